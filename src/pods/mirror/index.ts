/** Mirror pods; a separate room, so that a node without an API never loads its client. */
export { creationHindrance, type MirrorStep, mirrorOfStaticPod, mirrorStep } from './decisions.js';
export { ApiMirrorPods, type ApiMirrorPodsOptions } from './mirror-pods.js';
