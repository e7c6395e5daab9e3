/** The Kubernetes API that nodelet serves itself, without a transport; and a simulated server for tests. */
export type { ApiRequest, ApiResponse } from './http/contracts.js';
export { Discovery } from './http/discovery.js';
export { ApiHandler, type OtherResponder } from './http/handler.js';
export { postedResponses } from './http/posted-responses.js';
export { scaleResponses } from './http/scale.js';
export { serverFacts } from './http/server-facts.js';
export type { ApiTarget } from './http/target.js';
export { servedKinds } from './kinds/kinds.js';
export type { ServedKind } from './kinds/served-kind.js';
export { LocalKubeApi } from './local-api.js';
export { Storage } from './objects/storage.js';
export { decideAccess, ownersGroup } from './posted/authorizer.js';
export type { ApiUser, PostedResponder } from './posted/contracts.js';
export { postedKinds } from './posted/posted-kinds.js';
export { PostedObjects, type TokenIssuer } from './posted/responder.js';
export { ServedApi, type ServedApiOptions } from './server.js';
export { SimulatedKubeApi, type SimulatedKubeApiOptions } from './sim/simulated-api.js';
export { tablePrinter } from './tables/printer.js';
