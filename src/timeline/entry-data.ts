/** The table of entry types: the stable name of each entry with the type of its data. `docs/timeline.md` shows it. */
import type { AgentEntries } from './agent-entries.js';
import type { NodeEntries } from './node-entries.js';
import type { PlanStep } from './plan-actions.js';
import type { PodEntries } from './pod-entries.js';
import type { RuntimeEntries } from './runtime-entries.js';
import type { ServiceEntries } from './service-entries.js';

/** The entry says everything in its common fields. */
export type NoData = undefined;

/** One value of an entry's data. Data is flat but for the steps of a plan, so that the log can show each value as a field. */
export type DataValue = string | number | boolean | readonly PlanStep[] | undefined;

/** A name never changes its meaning. Data may gain optional fields; any other change is a new name or a new version. */
export interface TimelineEntries
  extends PodEntries,
    RuntimeEntries,
    NodeEntries,
    AgentEntries,
    ServiceEntries {
  /** A Kubernetes event; the name ends with its reason, and `event` has the rest. */
  [event: `event.${string}`]: NoData;
}

export type EntryName = keyof TimelineEntries;

/** The data of the entries of one name, where they have some. */
export type EntryData<Name extends EntryName> = Readonly<Exclude<TimelineEntries[Name], NoData>>;
