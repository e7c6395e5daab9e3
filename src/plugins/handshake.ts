/** Registers one plugin: asks who it is, lets its handler take it, and tells it what became of it. */
import { asError, type Clock, errorText, TimedOut, withTimeout } from '../async/index.js';
import { judgeAnswer } from './claim.js';
import type { OpenPluginSocket, PluginClaim, PluginConnection, PluginHandler } from './contracts.js';
import { pluginLimits } from './limits.js';

export interface HandshakeOptions {
  readonly clock: Clock;
  readonly open: OpenPluginSocket;
  /** By type. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
}

/** The plugin is not registered. `claim` is what it said of itself, if it said something sensible. */
export class RegistrationFailure extends Error {
  override readonly name = 'RegistrationFailure';
  readonly claim: PluginClaim | undefined;

  constructor(claim: PluginClaim | undefined, message: string, options?: ErrorOptions) {
    super(message, options);
    this.claim = claim;
  }
}

/** Rejects with RegistrationFailure; then nothing of the plugin is left. */
export async function registerPlugin(
  socketPath: string,
  options: HandshakeOptions,
  signal: AbortSignal,
): Promise<PluginClaim> {
  const connection = options.open(socketPath);
  try {
    return await shakeHands(socketPath, connection, options, signal);
  } finally {
    connection.close();
  }
}

async function shakeHands(
  socketPath: string,
  connection: PluginConnection,
  { clock, handlers }: HandshakeOptions,
  signal: AbortSignal,
): Promise<PluginClaim> {
  const { infoMs, notifyMs, registerMs, deregisterMs, errorChars } = pluginLimits;
  const notify = (pluginRegistered: boolean, error: string): Promise<void> =>
    withTimeout(clock, notifyMs, signal, (limit) =>
      connection.notify({ pluginRegistered, error }, { timeoutMs: notifyMs, signal: limit }),
    );
  const refuse = async (claim: PluginClaim | undefined, problem: string, cause?: Error): Promise<never> => {
    const text = `RegisterPlugin error -- ${problem}`;
    // The refusal stands whether or not the plugin hears of it.
    await notify(false, text.slice(0, errorChars)).catch(() => {});
    throw new RegistrationFailure(claim, text, { cause });
  };

  const answer = await withTimeout(clock, infoMs, signal, (limit) =>
    connection.info({ timeoutMs: infoMs, signal: limit }),
  ).catch((error: unknown) => {
    throw new RegistrationFailure(
      undefined,
      `the plugin at ${socketPath} does not say who it is: ${errorText(error)}`,
      { cause: asError(error) },
    );
  });
  const judged = judgeAnswer(answer, socketPath);
  if (judged.kind === 'refused')
    return refuse(undefined, `plugin at socket ${socketPath}: ${judged.problem}`);
  const { claim } = judged;
  const handler = handlers.get(claim.type);
  if (handler === undefined) {
    return refuse(claim, `no handler registered for plugin type: ${claim.type} at socket ${socketPath}`);
  }
  const refusal = handler.refusal(claim);
  if (refusal !== undefined) return refuse(claim, `plugin validation failed with err: ${refusal}`);
  try {
    await withTimeout(clock, registerMs, signal, (limit) => handler.register(claim, limit));
  } catch (error) {
    // A handler that rejects leaves nothing; one that is cut off may.
    if (error instanceof TimedOut) await undo(clock, handler, claim, deregisterMs, signal);
    return refuse(claim, `plugin registration failed with err: ${errorText(error)}`, asError(error));
  }
  try {
    await notify(true, '');
  } catch (error) {
    await undo(clock, handler, claim, deregisterMs, signal);
    throw new RegistrationFailure(
      claim,
      `the plugin does not take the news that it is registered: ${errorText(error)}`,
      { cause: asError(error) },
    );
  }
  return claim;
}

/** A plugin that stays registered by halves is worse than one that is reported twice. */
async function undo(
  clock: Clock,
  handler: PluginHandler,
  claim: PluginClaim,
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  // At the end of the agent plugins stay as they are.
  if (signal.aborted) return;
  await withTimeout(clock, limitMs, signal, (limit) => handler.deregister(claim, limit)).catch(() => {});
}
