/** GETs: of any URL by rules of the caller, and of `httpGet` actions for probes and lifecycle hooks. */
export {
  type GetFailure,
  type GetLimits,
  type GetRules,
  HttpGetError,
  type HttpGetRequest,
  type HttpGetResponse,
  type HttpLimits,
  type HttpResponse,
  type HttpUrl,
  PlainHttpResponse,
} from './contracts.js';
export { getUrl } from './get-url.js';
export { httpGet } from './http-get.js';
export { httpGetLimits } from './limits.js';
export { networkErrorText } from './network-errors.js';
export { PodLookups, podLookups } from './pod-lookups.js';
export { containerPort } from './port.js';
export { formatHost, formatUrl, type HttpGetTarget, httpGetRequest, httpUrlOf } from './request.js';
