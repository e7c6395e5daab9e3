/** Assembles the parts of a process runtime and restores what earlier agents left. */
import { homedir } from 'node:os';
import { type Clock, errorText, Gate, sleep, systemClock, TaskGroup } from '../../async/index.js';
import { isSingleExecutable } from '../../programs/own-program.js';
import { type LoopbackStreaming, loopbackStreaming } from '../../streaming/index.js';
import { PodEvents } from '../pod-events.js';
import { sandboxStatus } from '../pod-status.js';
import { PodStore } from '../pod-store.js';
import { createStamps } from '../stamps.js';
import { attachStreams } from './attach.js';
import { ProcessCalls } from './calls.js';
import { endContainerCgroup } from './container-cgroup.js';
import type { ContainerFiles } from './container-files.js';
import { parseState } from './container-state.js';
import { ProcessContainers, processContainerStatus } from './containers.js';
import { execStreams } from './exec-streams.js';
import { currentBootId } from './identity.js';
import { ProcessImages } from './images.js';
import { LaunchPlanner } from './launch-planner.js';
import { forwardPort } from './port-forward.js';
import { type ProcessContainer, type ProcessSandbox, parseContainer, parseSandbox } from './records.js';
import { ProcessSandboxes, primaryAddress } from './sandboxes.js';
import { readRecord, StateDirectory } from './state-directory.js';
import { ProcessStats } from './stats.js';
import { killStrays } from './strays.js';
import { Supervision } from './supervision.js';
import { defaultSupervisorEntry } from './supervisor-entry.js';

export interface ProcessRuntimeOptions {
  /** Holds everything that must outlive the agent; only one agent at a time may use it. */
  readonly stateDir: string;
  readonly clock?: Clock;
  /** The JavaScript file of supervisors; default `supervisor.js` of the bundle. */
  readonly supervisorEntry?: string;
  /** Arguments for Node before the entry. */
  readonly supervisorExecArgv?: readonly string[];
  /** The address of pods without host network; default the machine's own. */
  readonly address?: string;
  /** Default: the machine's. Containers of another boot are no longer running. */
  readonly bootId?: string;
  /** Called for problems outside of calls; default: none. */
  readonly onProblem?: (message: string, error: unknown) => void;
}

/** A supervisor does little; without helper threads and with a small heap it is small. */
const smallExecArgv = ['--v8-pool-size=0', '--max-semi-space-size=1'];
/**
 * Where Node has this flag. Without it, the signal opens the inspector until the supervisor has a handler.
 */
const noInspector = '--disable-sigusr1';
const defaultExecArgv = process.allowedNodeEnvironmentFlags.has(noInspector)
  ? [...smallExecArgv, noInspector]
  : smallExecArgv;
/** Containers adopted in parallel. */
const adoptionWidth = 16;

export interface ProcessMachine {
  readonly clock: Clock;
  readonly stamp: () => bigint;
  readonly calls: ProcessCalls;
  readonly tasks: TaskGroup;
  readonly store: PodStore<ProcessSandbox, ProcessContainer>;
  readonly directory: StateDirectory;
  readonly images: ProcessImages;
  readonly events: PodEvents<ProcessSandbox>;
  readonly containers: ProcessContainers;
  readonly sandboxes: ProcessSandboxes;
  readonly stats: ProcessStats;
  readonly supervision: Supervision;
  readonly streaming: LoopbackStreaming;
}

export async function openMachine(options: ProcessRuntimeOptions): Promise<ProcessMachine> {
  const supervisorEntry = options.supervisorEntry ?? defaultSupervisorEntry();
  const bootId = options.bootId ?? (await currentBootId());
  const directory = await StateDirectory.open(options.stateDir, options.clock);
  const onProblem = options.onProblem ?? (() => {});
  const clock = options.clock ?? systemClock;
  const stamp = createStamps(() => clock.now());
  const tasks = new TaskGroup({ onError: (task, error) => onProblem(`${task} failed`, error) });
  const agent = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0, home: homedir() };
  const store = new PodStore<ProcessSandbox, ProcessContainer>();
  const images = new ProcessImages(agent.uid);
  const events = new PodEvents<ProcessSandbox>({
    stamp,
    sandboxStatus,
    containerStatuses: (sandbox) => [...sandbox.containers].map(processContainerStatus),
  });
  const containers = new ProcessContainers({
    clock,
    store,
    directory,
    images,
    events,
    launches: new LaunchPlanner(agent),
    bootId,
    stamp,
    // A cycle: supervision reports to the containers, which start supervisors.
    supervision: () => supervision,
  });
  const supervision: Supervision = new Supervision({
    clock,
    tasks,
    bootId,
    stamp,
    supervisorEntry,
    // The single executable takes no arguments of Node.
    supervisorExecArgv: options.supervisorExecArgv ?? (isSingleExecutable() ? [] : defaultExecArgv),
    onState: (container, state) => containers.observe(container, state),
  });
  const sandboxes = new ProcessSandboxes({
    store,
    directory,
    containers,
    events,
    bootId,
    stamp,
    address: () => options.address ?? primaryAddress(),
  });
  const stats = new ProcessStats(stamp, directory.path);
  const calls = new ProcessCalls(clock);
  const streaming = loopbackStreaming({
    clock,
    backend: {
      exec: (request, streams, signal) =>
        execStreams(clock, containers.find(request.containerId), request, streams, signal),
      attach: (request, streams, signal) =>
        attachStreams(containers.find(request.containerId), request, streams, signal),
      portForward: (_, port, stream, signal) => forwardPort(port, stream, signal),
    },
  });
  const machine = {
    clock,
    stamp,
    calls,
    tasks,
    store,
    directory,
    images,
    events,
    containers,
    sandboxes,
    stats,
    supervision,
    streaming,
  };
  try {
    await adoptAll(machine, bootId, onProblem);
  } catch (error) {
    await closeMachine(machine);
    throw error;
  }
  return machine;
}

/** Containers keep running; the next agent finds them. */
export async function closeMachine(machine: ProcessMachine): Promise<void> {
  machine.supervision.close();
  machine.events.breakStreams();
  await machine.calls.close();
  await machine.streaming.close();
  await machine.tasks.stop();
  await machine.directory.release();
}

type OnProblem = (message: string, error: unknown) => void;

async function adoptAll(machine: ProcessMachine, bootId: string, onProblem: OnProblem): Promise<void> {
  const { directory, store } = machine;
  await directory.removeLeftovers();
  const unread = new Set<string>();
  for (const id of await directory.sandboxIds()) {
    try {
      store.addSandbox(parseSandbox(id, await directory.readSandbox(id), bootId));
    } catch (error) {
      if (isBroken(error)) {
        tellSetAside(onProblem, `sandbox ${id}`, error, await directory.setAsideSandbox(id));
      } else {
        unread.add(id);
        onProblem(leftAloneText(`sandbox ${id}`), error);
      }
    }
  }
  const gate = new Gate(adoptionWidth);
  await Promise.all(
    (await directory.containerIds()).map((id) => gate.run(() => adopt(machine, id, unread, onProblem))),
  );
}

/** Also leaves the containers of unreadable sandboxes alone. */
async function adopt(
  machine: ProcessMachine,
  id: string,
  unread: ReadonlySet<string>,
  onProblem: OnProblem,
): Promise<void> {
  const { directory, store, supervision, images } = machine;
  const files = directory.filesOf(id);
  let container: ProcessContainer | undefined;
  try {
    const record = await readRecord(files.record);
    const launch = await readRecord(files.launch);
    const read = parseContainer(id, files, { record, launch });
    if (unread.has(read.sandboxId)) return;
    parseState(await readRecord(files.state));
    const sandbox = store.sandboxes.get(read.sandboxId);
    if (sandbox === undefined) throw new Error(`there is no sandbox ${read.sandboxId}`);
    container = read.with(sandbox);
    store.addContainer(container);
    await supervision.adopt(container);
    const { image } = container.config;
    images.find(image?.userSpecifiedImage || image?.image || '');
  } catch (error) {
    // Its fate is unknown, so it must not be started a second time.
    if (container !== undefined && store.containers.has(id)) store.removeContainer(container);
    if (!isBroken(error)) {
      onProblem(leftAloneText(`container ${id}`), error);
      return;
    }
    await endProcesses(machine, id, files);
    tellSetAside(onProblem, `container ${id}`, error, await directory.setAsideContainer(id));
  }
}

/** No call can stop the processes of an unknown container, and another container will replace it. */
async function endProcesses({ clock }: ProcessMachine, id: string, files: ContainerFiles): Promise<void> {
  const cgroup = await readRecord(files.cgroup).catch(() => undefined);
  if (cgroup !== undefined) await endContainerCgroup(id, cgroup, (ms) => sleep(clock, ms));
  killStrays(id);
}

/** Whether the file is broken. A failed system call says nothing about the file. */
function isBroken(error: unknown): boolean {
  return !(error instanceof Error && 'code' in error);
}

function leftAloneText(what: string): string {
  return `${what} cannot be read now and is left alone until the agent restarts`;
}

function tellSetAside(onProblem: OnProblem, what: string, error: unknown, movedTo: string | undefined): void {
  // The JSON parser's message quotes the content, which may be secret.
  const reason = error instanceof SyntaxError ? new Error('it is not whole JSON') : error;
  const place = movedTo === undefined ? 'could not be moved away' : `is kept as ${movedTo}`;
  onProblem(`${what} cannot be used and ${place}: ${errorText(reason)}`, reason);
}
