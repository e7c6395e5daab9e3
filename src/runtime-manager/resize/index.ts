/** In-place resize: changes the resources of running containers. */
export { ActuatedResources, type ActuatedResourcesOptions } from './actuated-resources.js';
export { wantedResources } from './decide-resize.js';
export { isResizeInProgress, type ResizeProgressInput } from './in-progress.js';
export { requirementsInForce } from './rebuild-actuated.js';
