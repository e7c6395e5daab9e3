/** A systemd in memory that makes slices in a test tree. */
import { join } from 'node:path';
import type { DbusValue, UnitProperty } from '../../dbus/index.js';
import { expandSlice } from './names.js';
import type { SliceManager } from './systemd-control.js';
import type { TestTree } from './test-tree.js';

export class TestSystemd implements SliceManager {
  /** Every call in order, with the names of its properties. */
  readonly calls: string[] = [];
  readonly units = new Map<string, Map<string, DbusValue>>();
  versionNumber = 252;
  /** May throw to fail a call. */
  refuse: (call: string) => void = () => {};
  readonly #tree: TestTree;

  constructor(tree: TestTree) {
    this.#tree = tree;
  }

  async startTransientSlice(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    this.#called(`start ${unit}`, properties);
    if (!this.units.has(unit)) this.units.set(unit, new Map());
    this.#keep(unit, properties);
    const parts = expandSlice(unit).split('/').slice(1);
    for (const mount of this.#tree.roots)
      for (const index of parts.keys()) this.#tree.makeDirectory(join(mount, ...parts.slice(0, index + 1)));
  }

  async setUnitProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    this.#called(`set ${unit}`, properties);
    if (!this.units.has(unit)) throw new Error(`Unit ${unit} not found.`);
    this.#keep(unit, properties);
  }

  async stopUnit(unit: string): Promise<void> {
    this.#called(`stop ${unit}`, []);
    this.units.delete(unit);
  }

  async version(): Promise<number> {
    return this.versionNumber;
  }

  #called(call: string, properties: readonly UnitProperty[]): void {
    this.calls.push([call, ...properties.map(({ name }) => name)].join(' '));
    this.refuse(call);
  }

  #keep(unit: string, properties: readonly UnitProperty[]): void {
    for (const { name, value } of properties) this.units.get(unit)?.set(name, value);
  }
}
