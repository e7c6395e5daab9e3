/** What people can do to a running fleet, by the socket of its process: look, add, remove, kill, cut off and restore. */
import { errorText, systemClock } from '../../async/index.js';
import { type ServerListener, type SocketRoute, serveSocket } from '../../server/index.js';
import { Timeline } from '../../timeline/index.js';
import type { HollowOutcome } from '../fleet/contracts.js';
import { hollowLimits } from '../limits.js';
import type { NodeProfile } from '../node/profile.js';
import { namesOf } from '../profiles/node-names.js';
import { type NodeGroup, readProfiles } from '../profiles/read-profiles.js';
import type { HollowAction, HollowControl, HollowReport } from './contracts.js';
import { readSelection, selectNodes } from './selection.js';

export interface HollowConsoleOptions {
  readonly control: HollowControl;
  /** Names of nodes whose group has no template. */
  readonly nameTemplate: string;
  /** What nodes are where their group does not say. */
  readonly profile: NodeProfile;
  /** The port of the first node; the others follow. 0: any free ones. */
  readonly firstPort: number;
}

/** What `ps` shows. */
export interface HollowProcessReport extends HollowReport {
  readonly pid: number;
  readonly rssBytes: number;
  /** Of the whole process since its start. */
  readonly cpuMs: number;
  readonly upMs: number;
}

/** The answer to a request that changes nodes. */
export interface HollowAnswer {
  readonly outcomes: readonly HollowOutcome[];
}

const actions: readonly HollowAction[] = ['remove', 'kill', 'cut', 'restore'];

export class HollowConsole {
  readonly #options: HollowConsoleOptions;
  readonly #names = new Set<string>();
  #nextPort: number;

  constructor(options: HollowConsoleOptions) {
    this.#options = options;
    this.#nextPort = options.firstPort;
  }

  /** The names of the new nodes, which join in their turn. */
  async add(groups: readonly NodeGroup[]): Promise<string[]> {
    const { control, nameTemplate, profile } = this.#options;
    const added: string[] = [];
    const taken = new Set(this.#names);
    const requests = groups.flatMap((group) => {
      const names = namesOf(group.nameTemplate ?? nameTemplate, group.count, (name) => taken.has(name));
      for (const name of names) taken.add(name);
      added.push(...names);
      return names.map((name) => ({
        name,
        profile: { ...profile, ...group.profile },
        port: this.#takePort(),
      }));
    });
    await control.add(requests);
    for (const name of added) this.#names.add(name);
    return added;
  }

  async act(action: HollowAction, body: unknown): Promise<readonly HollowOutcome[]> {
    const { control } = this.#options;
    const selection = readSelection(body);
    const decision = selectNodes(action, selection, (await control.report()).nodes);
    if (decision.kind === 'refuse') throw new Error(decision.message);
    const outcomes = await control.act(action, decision.names, selection.keepsNodes);
    if (action === 'remove') for (const { name } of outcomes) this.#names.delete(name);
    return outcomes;
  }

  async report(): Promise<HollowProcessReport> {
    const { user, system } = process.cpuUsage();
    return {
      ...(await this.#options.control.report()),
      pid: process.pid,
      rssBytes: process.memoryUsage.rss(),
      cpuMs: (user + system) / 1000,
      upMs: process.uptime() * 1000,
    };
  }

  #takePort(): number {
    if (this.#nextPort === 0) return 0;
    if (this.#nextPort > 65_535) throw new Error('there is no port left for another node');
    return this.#nextPort++;
  }
}

/** Rejects when another process serves the socket. Whoever can open it may do everything. */
export function serveConsole(console: HollowConsole, socketPath: string): Promise<ServerListener> {
  const routes: SocketRoute[] = [
    { method: 'GET', path: '/hollow', answer: () => console.report() },
    {
      method: 'POST',
      path: '/hollow/add',
      answer: async (body) => {
        const names = await console.add(readProfiles(body, 'the request'));
        return { outcomes: names.map((name) => ({ name, problem: undefined })) } satisfies HollowAnswer;
      },
    },
    ...actions.map(
      (action): SocketRoute => ({
        method: 'POST',
        path: `/hollow/${action}`,
        answer: async (body) =>
          ({ outcomes: await console.act(action, parsed(body)) }) satisfies HollowAnswer,
      }),
    ),
  ];
  return serveSocket(routes, {
    socketPath,
    timeline: new Timeline({ clock: systemClock }),
    limits: { bodyBytes: hollowLimits.requestBytes },
  });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new Error(`the request is no JSON: ${errorText(error)}`, { cause: error });
  }
}
