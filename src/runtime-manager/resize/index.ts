/** In-place resize: other resources for containers that run. */
export { ActuatedResources, type ActuatedResourcesOptions } from './actuated-resources.js';
