/** The driver `systemd`: every cgroup is a slice that systemd makes, and the agent completes what systemd leaves out. */
import { errorText } from '../../async/index.js';
import type { SystemdUnits } from '../../dbus/index.js';
import { type CgroupControl, FileControl } from './control.js';
import type { CgroupHierarchy } from './hierarchy.js';
import { type CgroupName, sliceOf, systemdNaming } from './names.js';
import { asSystemdRounds, sliceProperties, valueProperties } from './unit-properties.js';
import type { CgroupValues } from './values.js';

/** The part of systemd that the driver needs. */
export type SliceManager = Pick<
  SystemdUnits,
  'startTransientSlice' | 'setUnitProperties' | 'stopUnit' | 'version'
>;

export class SystemdControl extends FileControl implements CgroupControl {
  readonly #units: SliceManager;

  constructor(hierarchy: CgroupHierarchy, units: SliceManager) {
    super(hierarchy, systemdNaming);
    this.#units = units;
  }

  async create(name: CgroupName, values: CgroupValues): Promise<void> {
    const slice = sliceOf(name);
    const properties = sliceProperties(slice, this.version);
    try {
      await this.#units.startTransientSlice(slice.unit, properties);
    } catch (error) {
      const names = properties.map((property) => property.name).join(' ');
      throw new Error(
        `unable to start unit ${JSON.stringify(slice.unit)} (properties [${names}]): ${errorText(error)}`,
        { cause: error },
      );
    }
    // systemd enables neither cpuset nor hugetlb.
    this.hierarchy.create(this.pathOf(name), values);
  }

  /** systemd applies again all that it knows of a unit, so it must know every value that it can. */
  async update(name: CgroupName, values: CgroupValues): Promise<void> {
    const context = { version: this.version, systemdVersion: await this.#units.version() };
    try {
      await this.#units.setUnitProperties(sliceOf(name).unit, valueProperties(values, context));
    } catch (error) {
      throw new Error(`unable to set unit properties: ${errorText(error)}`, { cause: error });
    }
    this.hierarchy.write(this.pathOf(name), asSystemdRounds(values));
  }

  async remove(name: CgroupName): Promise<void> {
    let stopError: unknown;
    try {
      await this.#units.stopUnit(sliceOf(name).unit);
    } catch (error) {
      if (this.version === 2) throw error;
      stopError = error;
    }
    try {
      await this.hierarchy.remove(this.pathOf(name));
    } catch (error) {
      throw stopError ?? error;
    }
    if (stopError !== undefined) throw stopError;
  }
}
