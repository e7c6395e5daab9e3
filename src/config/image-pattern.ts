/** The syntax of entries in `preloadedImagesVerificationAllowlist`: image names without tag, or `prefix/*`. */
import { parseImageName } from '../kube/index.js';

/** What is wrong with the pattern, or undefined. */
export function imagePatternProblem(pattern: string): string | undefined {
  if (pattern === '') return 'must not be empty';
  if (pattern.includes('*')) {
    if (!pattern.endsWith('/*') || pattern.indexOf('*') !== pattern.length - 1) {
      return `"${pattern}" may have a * only at its end, after a /`;
    }
    const prefix = pattern.slice(0, -2);
    if (prefix === '') return `"${pattern}" must name at least a registry host`;
    // A prefix may be a host alone, which is no image name by itself.
    return parseImageName(`${prefix}/any`) === undefined ? `"${pattern}" is not an image name` : undefined;
  }
  const parsed = parseImageName(pattern);
  if (parsed === undefined) return `"${pattern}" is not an image name`;
  return parsed.repository === pattern ? undefined : `"${pattern}" must have neither tag nor digest`;
}
