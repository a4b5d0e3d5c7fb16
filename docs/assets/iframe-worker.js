"use strict";
/* Browsers start no worker from a file on disk. The search of the manual needs one, so an invisible frame takes its place. */
if (location.protocol === "file:") {
  const inside = `
    postMessage = (message) => parent.postMessage(message, "*");
    importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((loaded) => {
      const script = document.createElement("script");
      script.src = url;
      script.onload = loaded;
      document.body.append(script);
    })), Promise.resolve());`;

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.inner = this.frame.contentWindow;
      this.ready = new Promise((loaded) => { this.loaded = loaded; });
      this.inner.document.open();
      this.inner.document.write(`<body><script>${inside}<\/script><script src="${url}"><\/script></body>`);
      this.inner.onload = this.loaded;
      this.inner.document.close();
      this.receive = (event) => {
        if (event.source !== this.inner) return;
        event.stopImmediatePropagation();
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        if (this.onmessage) this.onmessage(event);
      };
      addEventListener("message", this.receive);
    }

    postMessage(message) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data: message })));
    }

    terminate() {
      removeEventListener("message", this.receive);
      this.frame.remove();
    }
  };
}
