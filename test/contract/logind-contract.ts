/** What every logind does for a node that delays a shutdown, real or simulated. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Logind } from '../../src/node/index.js';

export interface LogindRig {
  readonly logind: Logind;
  heldLocks(): Promise<number>;
  prepare(isBegun: boolean): Promise<void>;
  /** The longest delay after the next reload; at first it is 5 s. */
  setNextDelayMs(delayMs: number): void;
  /** Ends the bus, with every connection and with logind. */
  loseBus(): Promise<void>;
  /** Ends whatever holds the locks, without being asked. */
  killHolders(): Promise<void>;
  close(): Promise<void>;
}

export function logindContract(name: string, open: () => Promise<LogindRig>): void {
  describe(`logind: ${name}`, () => {
    let rig: LogindRig;
    let stop: AbortController;
    beforeEach(async () => {
      rig = await open();
      stop = new AbortController();
    });
    afterEach(async () => {
      stop.abort();
      await rig.close();
    });

    const connect = (heard: boolean[] = []) =>
      rig.logind.connect((isBegun) => void heard.push(isBegun), stop.signal);

    it('says how long it waits, and another time after it read its configuration', async () => {
      const connection = await connect();
      expect(await connection.inhibitDelayMaxMs(stop.signal)).toBe(5_000);
      rig.setNextDelayMs(300_000);
      expect(await connection.inhibitDelayMaxMs(stop.signal)).toBe(5_000);
      await connection.reloadConfiguration(stop.signal);
      await expect.poll(() => connection.inhibitDelayMaxMs(stop.signal)).toBe(300_000);
      connection.close();
    });

    it('gives locks that are held until they are released', async () => {
      const connection = await connect();
      const first = await connection.inhibit(stop.signal);
      expect(await rig.heldLocks()).toBe(1);
      const second = await connection.inhibit(stop.signal);
      expect(await rig.heldLocks()).toBe(2);
      await first.release();
      await expect.poll(() => rig.heldLocks()).toBe(1);
      await second.release();
      await second.release();
      await expect.poll(() => rig.heldLocks()).toBe(0);
      connection.close();
    });

    it('tells of a shutdown and of its cancellation', async () => {
      const heard: boolean[] = [];
      const connection = await connect(heard);
      await rig.prepare(true);
      await rig.prepare(false);
      await expect.poll(() => heard).toEqual([true, false]);
      connection.close();
    });

    it('is lost with the bus', async () => {
      const connection = await connect();
      await rig.loseBus();
      expect(await connection.lost).not.toBe('');
    });

    it('reports a lock whose holder died', async () => {
      const connection = await connect();
      const lock = await connection.inhibit(stop.signal);
      await rig.killHolders();
      expect(await lock.lost).not.toBe('');
      await expect.poll(() => rig.heldLocks()).toBe(0);
      await lock.release();
      connection.close();
    });
  });
}
