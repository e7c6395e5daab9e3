/** Pod sources: a directory, a file or a URL. */
export * from './file.js';
export * from './http.js';
export * from './source.js';
export * from './static-pod.js';
