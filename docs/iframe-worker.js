// Search runs in a worker, which browsers refuse to start from a disk. There a frame of the same page does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const load = (source) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = new URL(source, document.baseURI);
        script.onload = done;
        script.onerror = failed;
        inside.document.body.append(script);
      });
      inside.importScripts = (...sources) => sources.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(url);
      this.inside = inside;
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
