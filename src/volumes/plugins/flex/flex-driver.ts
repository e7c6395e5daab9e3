/** Drivers of flexVolume volumes: programs of the administrator that are started for each step and answer with JSON. */
import { basename, join } from 'node:path/posix';
import { BoundedMap, type Clock } from '../../../async/index.js';
import {
  CommandLine,
  endText,
  type ProgramEnd,
  plainEnvironment,
  runProgram,
} from '../../../programs/index.js';
import { VolumeFailure } from '../../contracts.js';
import { flexLimits } from './limits.js';

/** Runs a driver to its end; the whole of the answer is in its output. */
export type RunFlexDriver = (
  executable: string,
  words: readonly string[],
  signal: AbortSignal | undefined,
) => Promise<ProgramEnd>;

export type FlexAnswer =
  | { readonly kind: 'success'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'not-supported' }
  | { readonly kind: 'failure'; readonly message: string };

/** What a driver can do; what it does not say is as in the reference kubelet. */
export interface FlexCapabilities {
  /** Whether a controller must attach its volumes. */
  readonly attach: boolean;
  readonly fsGroup: boolean;
  readonly relabel: boolean;
}

/** What a driver is told of a volume. */
export interface FlexOptions {
  readonly text: string;
  /** The secrets among them, in base64. */
  readonly secrets: readonly string[];
}

/** `vendor/driver`, or `driver`: its parts are names of files. */
const driverName = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)?$/;

export function isFlexDriverName(name: string): boolean {
  return name.length <= flexLimits.driverNameChars && driverName.test(name) && !name.includes('..');
}

/** `<directory>/vendor~driver/driver` */
export function flexExecutable(directory: string, driver: string): string {
  return join(directory, driver.replace('/', '~'), basename(driver));
}

/** What a driver's output means; whatever it is, this answers, and without the secrets that the driver was told. */
export function flexAnswer(end: ProgramEnd, secrets: readonly string[] = []): FlexAnswer {
  if (end.kind !== 'exited') return { kind: 'failure', message: endText(end) };
  const fields = jsonFields(end.stdout);
  if (fields === undefined) {
    const said = `${end.stdout} ${end.stderr}`.trim();
    return {
      kind: 'failure',
      message: `its answer is no JSON (exit code ${end.exitCode}): ${cut(without(secrets, said))}`,
    };
  }
  if (fields.status === 'Not supported') return { kind: 'not-supported' };
  const message = typeof fields.message === 'string' ? fields.message : '';
  if (fields.status !== 'Success' || end.exitCode !== 0) {
    const shown = cut(without(secrets, message));
    return { kind: 'failure', message: shown || `it ended with ${end.exitCode} and no message` };
  }
  return { kind: 'success', fields };
}

export function flexCapabilities(fields: Readonly<Record<string, unknown>>): FlexCapabilities {
  const { capabilities } = fields;
  const told = isObject(capabilities) ? capabilities : {};
  const may = (name: string): boolean => told[name] !== false;
  return { attach: may('attach'), fsGroup: may('fsGroup'), relabel: may('selinuxRelabel') };
}

export interface FlexDriversOptions {
  /** Where the administrator puts drivers. */
  readonly directory: string;
  readonly run: RunFlexDriver;
}

export class FlexDrivers {
  readonly #options: FlexDriversOptions;
  readonly #capabilities = new BoundedMap<string, FlexCapabilities>({ maxEntries: flexLimits.knownDrivers });

  constructor(options: FlexDriversOptions) {
    this.#options = options;
  }

  /** Undefined for a driver that was not needed yet. */
  known(driver: string): FlexCapabilities | undefined {
    return this.#capabilities.get(driver);
  }

  /** Starts the driver with `init` when it is first needed. */
  async capabilities(driver: string, signal: AbortSignal): Promise<FlexCapabilities> {
    const known = this.known(driver);
    if (known !== undefined) return known;
    const answer = await this.#call(driver, ['init'], signal);
    // A driver that is not there, or does not work, has done nothing.
    if (answer.kind !== 'success') throw new VolumeFailure('transient', failureText(driver, 'init', answer));
    const capabilities = flexCapabilities(answer.fields);
    // A driver that cannot be used is asked again: the administrator may have put another in its place.
    if (!capabilities.attach) this.#capabilities.set(driver, capabilities);
    return capabilities;
  }

  async mount(driver: string, target: string, told: FlexOptions, signal: AbortSignal): Promise<void> {
    const answer = await this.#call(driver, ['mount', target, told.text], signal, told.secrets);
    if (answer.kind !== 'success') throw new VolumeFailure('uncertain', failureText(driver, 'mount', answer));
  }

  /** `not-supported`: the mount is to be taken away as any other. */
  async unmount(driver: string, target: string): Promise<'done' | 'not-supported'> {
    const answer = await this.#call(driver, ['unmount', target], undefined);
    if (answer.kind === 'failure') throw new Error(failureText(driver, 'unmount', answer));
    return answer.kind === 'success' ? 'done' : 'not-supported';
  }

  async #call(
    driver: string,
    words: readonly string[],
    signal: AbortSignal | undefined,
    secrets: readonly string[] = [],
  ): Promise<FlexAnswer> {
    const { directory, run } = this.#options;
    return flexAnswer(await run(flexExecutable(directory, driver), words, signal), secrets);
  }
}

function failureText(driver: string, step: string, answer: Exclude<FlexAnswer, { kind: 'success' }>): string {
  const problem = answer.kind === 'failure' ? answer.message : 'it does not support that';
  return `the flexVolume driver ${driver} failed to ${step}: ${problem}`;
}

/** The drivers of this machine. */
export function flexPrograms(clock: Clock): RunFlexDriver {
  return (executable, words, signal) =>
    runProgram(CommandLine.given(executable, words), {
      clock,
      limitMs: flexLimits.callMs,
      signal,
      env: plainEnvironment(),
      outputLimitBytes: flexLimits.outputBytes,
    });
}

function jsonFields(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Drivers repeat what they were told, a script that traces its commands for one; what they say becomes an event. */
function without(secrets: readonly string[], text: string): string {
  const forms = secrets.flatMap((secret) => [secret, Buffer.from(secret, 'base64').toString('utf8')]);
  // A secret may be a part of another one.
  const longestFirst = forms.filter((form) => form !== '').sort((a, b) => b.length - a.length);
  return longestFirst.reduce((shown, form) => shown.replaceAll(form, '<secret>'), text);
}

function cut(text: string): string {
  const { messageChars } = flexLimits;
  return text.length > messageChars ? `${text.slice(0, messageChars)}…` : text;
}
