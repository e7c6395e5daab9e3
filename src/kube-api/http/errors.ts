/** Failures as the API's Status objects. */
import { errorText } from '../../async/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { PatchRefused } from '../../kube-client/patches/json.js';
import { type ApiResponse, jsonResponse } from './contracts.js';

export function statusResponse(error: unknown): ApiResponse {
  const known = apiErrorFor(error);
  const retry = known.retryAfterSeconds;
  return jsonResponse(
    known.code,
    { metadata: {}, ...known.status },
    retry === undefined ? {} : { 'Retry-After': String(retry) },
  );
}

function apiErrorFor(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof PatchRefused)
    return new ApiError({ code: 422, reason: 'Invalid', message: error.message });
  if (error instanceof URIError)
    return new ApiError({ code: 400, message: 'the path of the request is malformed' });
  return new ApiError({ code: 500, message: `Internal error occurred: ${errorText(error)}` });
}

export function notServed(): ApiError {
  return new ApiError({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });
}

export function methodNotAllowed(): ApiError {
  return new ApiError({
    code: 405,
    message: 'the server does not allow this method on the requested resource',
  });
}
