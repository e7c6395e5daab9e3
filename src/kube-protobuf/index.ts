/** Kubernetes objects in protobuf: pods and all that they hold. `kubeMessage` has the tables, `openEnvelope` the frame of the API. */
export { type Enveloped, openEnvelope, protobufMediaType, putInEnvelope } from './envelope.js';
export { KubeMessage, type KubeMessageName, kubeMessage, kubeMessageNames } from './message.js';
