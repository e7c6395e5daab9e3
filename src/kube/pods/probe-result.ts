/** What probes tell about a container, for those who run them and those who report them. */

/** The result of a container's probe after its thresholds. */
export type ProbeResult = 'success' | 'failure' | 'unknown';
