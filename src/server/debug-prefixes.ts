/** Debugging endpoints that respond "disabled" instead of 404 where they are off. */
import { plainError } from './responses.js';
import type { Route } from './routes.js';

export const debugPrefixes: readonly string[] = [
  '/run/',
  '/exec/',
  '/attach/',
  '/portForward/',
  '/containerLogs/',
  '/runningpods/',
  '/debug/pprof/',
  '/debug/what-if/',
  '/debug/describe/',
  '/debug/timeline',
  '/debug/watch',
  '/logs/',
];

export function switchedOff(path: string, message: string): Route {
  return { kind: 'plain', path, handle: () => plainError(405, message) };
}

/** For a port with all of them disabled. */
export function disabledDebugRoutes(): Route[] {
  return debugPrefixes.map((path) => switchedOff(path, 'Debug endpoints are disabled.'));
}
