import { describe, expect, it } from 'vitest';
import { type ScriptedContainer, scriptedPullMs, scriptOf, validateSimAnnotations } from './script.js';

const key = (setting: string) => `sim.nodelet.dev/${setting}`;
const app: ScriptedContainer = { name: 'app', attempt: 0, argv: [], annotations: {} };

describe('validateSimAnnotations', () => {
  const cases: [rule: string, setting: string, value: string, message: string][] = [
    ['unknown settings', 'app.run-tme', '5s', 'unknown setting "run-tme"; use one of run-time, exit-code'],
    ['durations', 'app.run-time', '5', 'missing unit in duration "5"'],
    ['negative durations', 'start-delay', '-5s', 'negative duration "-5s"'],
    ['exit codes', 'app.exit-code', '256', 'exit code "256" is not a whole number from 0 to 255'],
    ['each of a list', 'app.exit-code', '1,x', 'exit code "x"'],
    ['truth', 'app.ignores-term', 'yes', '"yes" is neither true nor false'],
  ];
  it.each(cases)('checks %s', (_, setting, value, message) => {
    const check = () => validateSimAnnotations({ [key(setting)]: value });
    expect(check).toThrow(expect.objectContaining({ codeName: 'InvalidArgument' }));
    expect(check).toThrow(`annotation ${key(setting)}: ${message}`);
  });
  it('accepts other annotations and valid ones', () => {
    validateSimAnnotations({
      'example.com/run-time': 'x',
      [key('app.run-time')]: '1s,forever',
      [key('log')]: 'hi',
    });
  });
});

describe('scriptOf', () => {
  const stepsOf = (annotations: Record<string, string>, container: Partial<ScriptedContainer> = {}) =>
    scriptOf({ ...app, ...container }, annotations).program.steps;
  const exit = (code: number) => ({ do: 'exit', code });
  const run = (durationMs: number) => ({ do: 'sleep', durationMs, interruptible: true });

  it('runs until SIGTERM by default, then exits with 143', () => {
    const { program } = scriptOf(app, {});
    expect(program).toEqual({ steps: [run(Number.POSITIVE_INFINITY)], onTerm: [exit(143)] });
  });
  it('simulates the command when no annotation says otherwise', () => {
    expect(stepsOf({}, { argv: ['false'] })).toEqual([exit(1)]);
    expect(stepsOf({ [key('app.run-time')]: '5s' }, { argv: ['false'] })).toEqual([run(5000), exit(0)]);
  });
  it('exits at once with an exit code alone', () => {
    expect(stepsOf({ [key('app.exit-code')]: '2' })).toEqual([exit(2)]);
  });
  it('prefers the container over the pod, and the named setting over the plain one', () => {
    const pod = { [key('exit-code')]: '1', [key('app.exit-code')]: '2', [key('other.exit-code')]: '9' };
    expect(stepsOf({ [key('exit-code')]: '1' })).toEqual([exit(1)]);
    expect(stepsOf(pod)).toEqual([exit(2)]);
    expect(stepsOf(pod, { annotations: { [key('exit-code')]: '3' } })).toEqual([exit(3)]);
  });
  it('takes the attempt’s value from a list, the last one for the rest', () => {
    const pod = { [key('app.run-time')]: '1s,2s,forever', [key('app.exit-code')]: '1,0' };
    expect(stepsOf(pod, { attempt: 0 })).toEqual([run(1000), exit(1)]);
    expect(stepsOf(pod, { attempt: 1 })).toEqual([run(2000), exit(0)]);
    expect(stepsOf(pod, { attempt: 7 })).toEqual([run(Number.POSITIVE_INFINITY)]);
  });
  it('scripts the stop', () => {
    const onTerm = (annotations: Record<string, string>) => scriptOf(app, annotations).program.onTerm;
    const delay = { do: 'sleep', durationMs: 3000, interruptible: false };
    expect(onTerm({ [key('app.stop-delay')]: '3s' })).toEqual([delay, exit(143)]);
    expect(onTerm({ [key('app.stop-exit-code')]: '0' })).toEqual([exit(0)]);
    expect(onTerm({ [key('app.ignores-term')]: 'true' })).toBe('ignore');
  });
  it('parses the other settings', () => {
    const script = scriptOf(app, {
      [key('start-delay')]: '2s',
      [key('start-error')]: 'no',
      [key('exit-reason')]: 'OOMKilled',
      [key('exec-exit-code')]: '1',
      [key('exec-output')]: 'sick',
      [key('exec-time')]: '10ms',
    });
    expect(script).toMatchObject({ startDelayMs: 2000, startError: 'no', exitReason: 'OOMKilled' });
    expect(script.exec).toEqual({ exitCode: 1, output: 'sick', durationMs: 10 });
  });
  it('takes the pull time from the pod', () => {
    expect(scriptedPullMs({ [key('pull-time')]: '4s' })).toBe(4000);
    expect(scriptedPullMs({})).toBeUndefined();
  });
});
