/** Decides what a client of `/debug/pprof/` asks for. */
import { profileLimits } from '../../limits.js';

export type ProfileRequest =
  | { readonly kind: 'index' }
  | { readonly kind: 'cmdline' }
  | { readonly kind: 'cpu'; readonly durationMs: number; readonly form: 'pprof' | 'cpuprofile' }
  | {
      readonly kind: 'allocations';
      readonly durationMs: number;
      /** Also those that nobody uses any more. */
      readonly withFreed: boolean;
      readonly form: 'pprof' | 'heapprofile';
    }
  | { readonly kind: 'refused'; readonly status: 400 | 404; readonly message: string };

/** As in Go. */
const cpuSeconds = 30;
const allocationSeconds = 10;

export function profileRequest(name: string, query: URLSearchParams): ProfileRequest {
  const form = query.get('format') || 'pprof';
  const refused = (message: string): ProfileRequest => ({ kind: 'refused', status: 400, message });
  switch (name) {
    case '':
      return { kind: 'index' };
    case 'cmdline':
      return { kind: 'cmdline' };
    case 'profile': {
      const durationMs = durationOf(query, cpuSeconds);
      if (form !== 'pprof' && form !== 'cpuprofile')
        return refused(unknownForm(form, ['pprof', 'cpuprofile']));
      return durationMs === undefined ? refused(tooLong) : { kind: 'cpu', durationMs, form };
    }
    case 'heap':
    case 'allocs': {
      // Go's text form shows what only Go has.
      if (Number(query.get('debug') ?? 0) > 0)
        return refused('debug: this agent has no text form of profiles');
      // A snapshot would hold every text in memory, the keys of the node among them, and stop the agent meanwhile.
      if (form !== 'pprof' && form !== 'heapprofile')
        return refused(unknownForm(form, ['pprof', 'heapprofile']));
      const durationMs = durationOf(query, allocationSeconds);
      if (durationMs === undefined) return refused(tooLong);
      return { kind: 'allocations', durationMs, withFreed: name === 'allocs', form };
    }
    default:
      return { kind: 'refused', status: 404, message: 'Unknown profile' };
  }
}

const tooLong = `seconds: at most ${profileLimits.samplingMs / 1000}`;

const unknownForm = (form: string, known: readonly string[]): string =>
  `format: ${JSON.stringify(form.slice(0, 40))} is unknown; write ${known.join(' or ')}`;

/** A text that is no number of seconds counts as none, as in Go. Undefined: too long. */
function durationOf(query: URLSearchParams, otherwise: number): number | undefined {
  const given = Number(query.get('seconds') ?? '');
  const durationMs = (Number.isFinite(given) && given > 0 ? given : otherwise) * 1000;
  return durationMs > profileLimits.samplingMs ? undefined : durationMs;
}
