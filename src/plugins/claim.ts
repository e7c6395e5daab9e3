/** Decides whether what a plugin says of itself makes sense. */
import { goQuote } from '../kube/index.js';
import type { PluginAnswer, PluginClaim } from './contracts.js';
import { pluginLimits } from './limits.js';

export type JudgedAnswer =
  | { readonly kind: 'claim'; readonly claim: PluginClaim }
  | { readonly kind: 'refused'; readonly problem: string };

/** Printable without spaces, so that names can stand in logs, objects and paths. */
const plainName = /^[!-.0-~][!-~]*$/;

export function judgeAnswer(answer: PluginAnswer, socketPath: string): JudgedAnswer {
  const { type, name, supportedVersions: versions } = answer;
  const endpoint = answer.endpoint === '' ? socketPath : answer.endpoint;
  const problem =
    nameProblem('type', type) ??
    nameProblem('name', name) ??
    endpointProblem(endpoint) ??
    versionsProblem(versions);
  return problem === undefined
    ? { kind: 'claim', claim: { type, name, endpoint, versions } }
    : { kind: 'refused', problem };
}

function nameProblem(field: string, text: string): string | undefined {
  if (text === '') return `${field} is empty`;
  if (text.length > pluginLimits.nameChars) return `${field} is longer than ${pluginLimits.nameChars}`;
  return plainName.test(text) ? undefined : `${field} ${goQuote(text)} is no plain name`;
}

function endpointProblem(endpoint: string): string | undefined {
  if (!endpoint.startsWith('/'))
    return `endpoint ${goQuote(endpoint.slice(0, 200))} is no absolute path of a socket`;
  if (Buffer.byteLength(endpoint) > pluginLimits.endpointBytes || endpoint.includes('\0'))
    return `endpoint is no path that a socket can have (${pluginLimits.endpointBytes} bytes at most)`;
  return undefined;
}

function versionsProblem(versions: readonly string[]): string | undefined {
  if (versions.length > pluginLimits.versions)
    return `supported_versions has more than ${pluginLimits.versions} entries`;
  const tooLong = versions.some(({ length }) => length > pluginLimits.nameChars);
  return tooLong ? `an entry of supported_versions is longer than ${pluginLimits.nameChars}` : undefined;
}
