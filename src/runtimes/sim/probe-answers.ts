/** What a simulated container answers to probes over the network, by port and path. */
import { parseSchedule, type Schedule, scheduledValue } from './schedule.js';

export type SimProbeAnswer =
  | { readonly kind: 'status'; readonly status: number }
  /** Nothing listens on the port. */
  | { readonly kind: 'refused' }
  /** The connection is taken, and no answer comes. */
  | { readonly kind: 'silent' };

/** One rule; the most exact one holds: port and path, the port, any. */
export interface ProbeRule {
  /** Undefined: every port. */
  readonly port: number | undefined;
  /** Undefined: every path. */
  readonly path: string | undefined;
  readonly answers: Schedule<SimProbeAnswer>;
}

export interface SimProbeRequest {
  readonly port: number;
  /** Undefined for a probe that only connects. */
  readonly path: string | undefined;
}

const mostRules = 32;
const wellAnswer: SimProbeAnswer = { kind: 'status', status: 200 };

/** `ok`, `fail`, `hang` or `refuse`, or the status of HTTP, for `PORT=`, `PORT/PATH=` or all, separated by commas. */
export function parseProbeRules(text: string): readonly ProbeRule[] {
  const items = text.split(',');
  if (items.length > mostRules) throw new Error(`it has ${items.length} rules; at most ${mostRules} can be`);
  return items.map((item) => {
    const equals = item.indexOf('=');
    const answers = parseSchedule(item.slice(equals + 1).trim(), answerOf);
    if (equals < 0) return { port: undefined, path: undefined, answers };
    const [, digits = '', path] = /^(\d{1,5})(\/.*)?$/.exec(item.slice(0, equals).trim()) ?? [];
    const port = Number(digits);
    if (digits === '' || port < 1 || port > 65_535)
      throw new Error(`"${item}" does not begin with a port such as 8080= or 8080/ready=`);
    return { port, path, answers };
  });
}

/** What a container that has run for this long answers; without a rule it is well. */
export function probeAnswer(
  rules: readonly ProbeRule[],
  { port, path }: SimProbeRequest,
  runningMs: number,
): SimProbeAnswer {
  const fits = (rule: ProbeRule): boolean =>
    (rule.port === undefined || rule.port === port) && (rule.path === undefined || rule.path === path);
  const exactness = (rule: ProbeRule): number =>
    (rule.port === undefined ? 0 : 1) + (rule.path === undefined ? 0 : 2);
  const [rule] = rules.filter(fits).sort((a, b) => exactness(b) - exactness(a));
  return rule === undefined ? wellAnswer : scheduledValue(rule.answers, runningMs);
}

function answerOf(text: string): SimProbeAnswer {
  switch (text) {
    case 'ok':
      return wellAnswer;
    case 'fail':
      return { kind: 'status', status: 503 };
    case 'hang':
      return { kind: 'silent' };
    case 'refuse':
      return { kind: 'refused' };
  }
  const status = /^\d{3}$/.test(text) ? Number(text) : 0;
  if (status < 100 || status > 599)
    throw new Error(`"${text}" is no answer: write ok, fail, hang, refuse or a status of HTTP such as 503`);
  return { kind: 'status', status };
}
