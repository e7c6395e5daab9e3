/** Validates entries of `preloadedImagesVerificationAllowlist`: image names without a tag, or `prefix/*`. */
import { parseImageName } from '../kube/index.js';

/** Returns what is wrong with the pattern; undefined when it is valid. */
export function imagePatternProblem(pattern: string): string | undefined {
  if (pattern === '') return 'must not be empty';
  if (pattern.includes('*')) {
    if (!pattern.endsWith('/*') || pattern.indexOf('*') !== pattern.length - 1) {
      return `"${pattern}" may have a * only at its end, after a /`;
    }
    const prefix = pattern.slice(0, -2);
    if (prefix === '') return `"${pattern}" must name at least a registry host`;
    // A prefix may be only a host, which is not an image name.
    return parseImageName(`${prefix}/any`) === undefined ? `"${pattern}" is not an image name` : undefined;
  }
  const parsed = parseImageName(pattern);
  if (parsed === undefined) return `"${pattern}" is not an image name`;
  return parsed.repository === pattern ? undefined : `"${pattern}" must have neither tag nor digest`;
}
