/** The GET of an `httpGet` action, for probes and lifecycle hooks. */
export {
  type HttpAnswer,
  HttpGetError,
  type HttpGetRequest,
  type HttpLimits,
  type HttpUrl,
  PlainHttpAnswer,
} from './contracts.js';
export { httpGet } from './get.js';
export { httpGetLimits } from './limits.js';
export { networkErrorText } from './network-errors.js';
export { containerPort } from './port.js';
export { formatHost, formatUrl, type HttpGetTarget, httpGetRequest } from './request.js';
