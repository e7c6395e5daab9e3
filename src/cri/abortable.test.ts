import { describe, expect, it } from 'vitest';
import { abortableCri } from './abortable.js';
import { VersionResponse } from './gen/cri.js';
import { type CallOptions, unimplementedCriRuntime } from './runtime.js';

describe('abortableCri', () => {
  it('passes answers and errors through', async () => {
    const runtime = {
      ...unimplementedCriRuntime(),
      version: async () => VersionResponse.create({ version: '0.1.0' }),
    };
    const wrapped = abortableCri(runtime, new AbortController().signal);
    expect((await wrapped.version({})).version).toBe('0.1.0');
    await expect(wrapped.status({})).rejects.toMatchObject({ codeName: 'Unimplemented' });
  });
  it('ends a call that waits for ever, and refuses later ones', async () => {
    const stop = new AbortController();
    const runtime = { ...unimplementedCriRuntime(), version: () => new Promise<VersionResponse>(() => {}) };
    const wrapped = abortableCri(runtime, stop.signal);
    const waiting = wrapped.version({});
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ codeName: 'Canceled' });
    await expect(wrapped.version({})).rejects.toMatchObject({ codeName: 'Canceled' });
  });
  it("keeps the caller's own signal working", async () => {
    let seen: AbortSignal | undefined;
    const runtime = {
      ...unimplementedCriRuntime(),
      version: (_request: object, options?: CallOptions) => {
        seen = options?.signal;
        return new Promise<VersionResponse>((_, reject) =>
          seen?.addEventListener('abort', () => reject(new Error('own'))),
        );
      },
    };
    const own = new AbortController();
    const waiting = abortableCri(runtime, new AbortController().signal).version({}, { signal: own.signal });
    own.abort();
    await expect(waiting).rejects.toThrow('own');
  });
});
