/** Holds the plugin manager on a simulated machine in virtual time, with plugins that misbehave. */
import { afterEach, describe, expect, it } from 'vitest';
import { TaskGroup, VirtualClock } from '../async/index.js';
import { GrpcError } from '../grpc/index.js';
import { type SimulatedHost, simulatedHost } from '../host/index.js';
import { Registry } from '../metrics/index.js';
import { Timeline } from '../timeline/index.js';
import type { OpenPluginSocket, PluginAnswer, PluginClaim, PluginHandler } from './contracts.js';
import { PluginManager, registerPluginCounts } from './index.js';

const directory = '/var/lib/kubelet/plugins_registry';
const at = (name: string): string => `${directory}/${name}.sock`;

/** A plugin as it behaves; what it does not say is right. */
interface FakePlugin {
  says?: Partial<PluginAnswer>;
  onInfo?: () => Promise<void>;
  onNotify?: () => Promise<void>;
  readonly told: string[];
}

class World {
  readonly clock = new VirtualClock();
  readonly timeline = new Timeline({ clock: this.clock });
  readonly host: SimulatedHost = simulatedHost();
  readonly plugins = new Map<string, FakePlugin>();
  readonly calls: string[] = [];
  readonly names = new Map<string, string>();
  onRegister: (plugin: PluginClaim, signal: AbortSignal) => Promise<void> = async () => {};
  open = 0;
  asked = 0;
  readonly #tasks = new TaskGroup({
    onError: (task, error) => {
      throw new Error(task, { cause: error });
    },
  });
  manager: PluginManager | undefined;

  readonly handler: PluginHandler = {
    refusal: ({ name, versions }) => {
      if (!versions.includes('1.0.0')) return `no version of ${name} is known`;
      return this.names.has(name) ? `${name} is already registered` : undefined;
    },
    register: async (plugin, signal) => {
      this.names.set(plugin.name, plugin.endpoint);
      try {
        await this.onRegister(plugin, signal);
      } catch (error) {
        this.names.delete(plugin.name);
        throw error;
      }
      this.calls.push(`register ${plugin.name} ${plugin.endpoint}`);
    },
    deregister: async ({ name, endpoint }) => {
      this.calls.push(`deregister ${name}`);
      if (this.names.get(name) === endpoint) this.names.delete(name);
    },
  };

  readonly socket: OpenPluginSocket = (path) => {
    this.open++;
    const plugin = this.plugins.get(path);
    let isOpen = true;
    return {
      info: async () => {
        this.asked++;
        if (plugin === undefined) throw new GrpcError('Unavailable', 'connection refused');
        await plugin.onInfo?.();
        return {
          type: 'CSIPlugin',
          name: path.split('/').pop()?.replace('.sock', '') ?? '',
          endpoint: '',
          supportedVersions: ['1.0.0'],
          ...plugin.says,
        };
      },
      notify: async ({ pluginRegistered, error }) => {
        await plugin?.onNotify?.();
        plugin?.told.push(pluginRegistered ? 'registered' : error);
      },
      close: () => {
        if (isOpen) this.open--;
        isOpen = false;
      },
    };
  };

  async start(): Promise<void> {
    await this.host.files.mkdir(directory, { recursive: true });
    const { clock, timeline, host, socket: open } = this;
    const handlers = new Map([['CSIPlugin', this.handler]]);
    this.manager = new PluginManager({ clock, timeline, host, directory, open, handlers });
    const { manager } = this;
    this.#tasks.start('plugins', (signal) => manager.run(signal));
    await this.advance(0);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  add(name: string, plugin: Omit<FakePlugin, 'told'> = {}): FakePlugin {
    const added = { ...plugin, told: [] };
    this.plugins.set(at(name), added);
    this.host.machine.makeSpecialFile(at(name), 'socket');
    return added;
  }

  async remove(name: string): Promise<void> {
    this.plugins.delete(at(name));
    await this.host.files.unlink(at(name));
  }

  problems(): string[] {
    return this.timeline
      .ofNode()
      .filter(({ kind, level }) => kind === 'problem' && level === 'warn')
      .map(({ message, error }) => (error === undefined ? message : `${message}: ${error}`));
  }

  async stop(): Promise<void> {
    await this.#tasks.stop();
  }
}

let world: World;
const start = async (prepare?: (world: World) => Promise<void> | void): Promise<World> => {
  world = new World();
  await world.host.files.mkdir(directory, { recursive: true });
  await prepare?.(world);
  await world.start();
  return world;
};
afterEach(async () => {
  await world.stop();
  expect(world.open).toBe(0);
  expect(world.clock.pendingTimers).toBe(0);
});

describe('a plugin', () => {
  it('is registered if its socket was there before', async () => {
    let plugin: FakePlugin | undefined;
    await start((w) => {
      plugin = w.add('early');
    });
    await world.advance(1000);
    expect(world.calls).toEqual([`register early ${at('early')}`]);
    expect(plugin?.told).toEqual(['registered']);
  });

  it('is registered soon after its socket appears, and deregistered soon after it goes', async () => {
    await start();
    world.add('late', { says: { endpoint: '/csi.sock' } });
    await world.advance(1000);
    expect(world.calls).toEqual(['register late /csi.sock']);
    await world.remove('late');
    await world.advance(1000);
    expect(world.calls).toEqual(['register late /csi.sock', 'deregister late']);
    expect(world.names.size).toBe(0);
  });

  it('is found in a directory below, also one that is made later', async () => {
    await start();
    await world.host.files.mkdir(`${directory}/vendor`);
    await world.advance(1000);
    world.add('vendor/deep');
    await world.advance(1000);
    expect(world.calls).toEqual([`register deep ${at('vendor/deep')}`]);
  });

  it('is registered when its socket was made elsewhere and is moved in', async () => {
    await start();
    world.plugins.set(at('moved'), { told: [] });
    world.host.machine.makeSpecialFile('/tmp/made.sock', 'socket');
    await world.advance(1000);
    await world.host.files.rename('/tmp/made.sock', at('moved'));
    await world.advance(1000);
    expect(world.calls).toEqual([`register moved ${at('moved')}`]);
  });

  it('is deregistered when its socket is moved away', async () => {
    await start();
    world.add('a');
    await world.advance(1000);
    await world.host.files.rename(at('a'), '/tmp/a.sock');
    await world.advance(1000);
    expect(world.calls).toEqual([`register a ${at('a')}`, 'deregister a']);
  });

  it('is deregistered and registered again when its socket is made anew', async () => {
    await start();
    world.add('a');
    await world.advance(1000);
    await world.remove('a');
    world.add('a');
    await world.advance(1000);
    expect(world.calls).toEqual([`register a ${at('a')}`, 'deregister a', `register a ${at('a')}`]);
  });

  it('is found by a link to its socket', async () => {
    await start();
    world.host.machine.makeSpecialFile('/tmp/real.sock', 'socket');
    world.plugins.set(at('link'), { told: [] });
    await world.host.files.symlink('/tmp/real.sock', at('link'));
    await world.advance(1000);
    expect(world.calls).toEqual([`register link ${at('link')}`]);
  });

  it('stays registered when the agent ends', async () => {
    await start();
    world.add('a');
    await world.advance(1000);
    await world.stop();
    expect(world.calls).toEqual([`register a ${at('a')}`]);
  });

  it('is counted by its state', async () => {
    await start();
    world.add('good');
    world.add('bad', { says: { supportedVersions: [] } });
    await world.advance(1000);
    const registry = new Registry();
    registerPluginCounts(registry, () => world.manager?.sockets() ?? { desired: [], actual: [] });
    const shown = (): string[] =>
      registry
        .text()
        .split('\n')
        .filter((line) => line.startsWith('plugin_'));
    expect(shown().toSorted()).toEqual([
      `plugin_manager_total_plugins{socket_path="${at('bad')}",state="desired_state_of_world"} 1`,
      `plugin_manager_total_plugins{socket_path="${at('good')}",state="actual_state_of_world"} 1`,
      `plugin_manager_total_plugins{socket_path="${at('good')}",state="desired_state_of_world"} 1`,
    ]);
    await world.remove('good');
    await world.remove('bad');
    await world.advance(1000);
    expect(shown()).toEqual([]);
  });
});

describe('what is no plugin is left alone', () => {
  it.each<[string, (host: SimulatedHost) => Promise<void>]>([
    ['a regular file', (host) => host.files.writeFile(at('file'), '')],
    [
      'a socket with a leading dot',
      async (host) => host.machine.makeSpecialFile(`${directory}/.x`, 'socket'),
    ],
    [
      'a socket in a directory with a leading dot',
      async (host) => {
        await host.files.mkdir(`${directory}/.x`);
        host.machine.makeSpecialFile(`${directory}/.x/y.sock`, 'socket');
      },
    ],
    ['a broken link', (host) => host.files.symlink('/nowhere', at('link'))],
    ['a link to itself', (host) => host.files.symlink(at('link'), at('link'))],
    [
      'a linked directory',
      async (host) => {
        host.machine.makeSpecialFile('/tmp/s.sock', 'socket');
        await host.files.symlink('/tmp', at('link'));
      },
    ],
  ])('%s', async (_, make) => {
    for (const isThereBefore of [true, false]) {
      await start((w) => (isThereBefore ? make(w.host) : undefined));
      await world.advance(1000);
      if (!isThereBefore) await make(world.host);
      await world.advance(60_000);
      expect(world.asked).toBe(0);
      expect(world.problems()).toEqual([]);
      await world.stop();
    }
  });
});

describe('a plugin that misbehaves does no harm and is named', () => {
  const good = async (): Promise<void> => {
    world.add('good');
    await world.advance(1000);
    expect(world.calls).toContain(`register good ${at('good')}`);
  };

  it('one that hangs when asked is given up after 10 s and asked again later', async () => {
    await start();
    world.add('hung', { onInfo: () => new Promise(() => {}) });
    await world.advance(1000);
    await good();
    await world.advance(10_000);
    expect(world.manager?.sockets()).toEqual({ desired: [at('hung'), at('good')], actual: [at('good')] });
    expect(world.plugins.get(at('hung'))?.told).toEqual([]);
    expect(world.problems()).toEqual([
      `the plugin at ${at('hung')} is not registered; the next attempt is in 0.5 s: the plugin at ${at('hung')} does not say who it is: timed out after 10000ms`,
    ]);
    await world.advance(3_600_000);
    // 10 s for each attempt and up to 122 s between two; told once, as it never changes.
    expect(world.asked).toBeLessThan(40);
    expect(world.asked).toBeGreaterThan(25);
    expect(world.problems()).toHaveLength(1);
  });

  it('one that is dead and left its socket is tried again, ever more rarely', async () => {
    await start();
    world.add('dead');
    world.plugins.delete(at('dead'));
    await good();
    await world.advance(3_600_000);
    expect(world.asked).toBeLessThan(45);
    expect(await world.host.files.readdir(directory)).toContain('dead.sock');
    world.plugins.set(at('dead'), { told: [] });
    await world.advance(122_000);
    expect(world.calls).toContain(`register dead ${at('dead')}`);
  });

  it('one that was mended with a new socket waits for no long pause', async () => {
    await start();
    world.add('dead');
    world.plugins.delete(at('dead'));
    await world.advance(3_600_000);
    await world.host.files.unlink(at('dead'));
    await world.advance(1000);
    world.add('dead');
    await world.advance(1000);
    expect(world.calls).toEqual([`register dead ${at('dead')}`]);
  });

  it('one of an unknown type is told so', async () => {
    await start();
    const plugin = world.add('odd', { says: { type: 'OddPlugin' } });
    await world.advance(0);
    const text = `RegisterPlugin error -- no handler registered for plugin type: OddPlugin at socket ${at('odd')}`;
    await world.advance(1000);
    expect(plugin.told[0]).toBe(text);
    expect(world.problems()).toEqual([
      `OddPlugin odd at ${at('odd')} is not registered; the next attempt is in 0.5 s: ${text}`,
    ]);
    await world.advance(15_000);
    // At 0, 0.5, 1.5, 3.5, 7.5 and 15.5 s.
    expect(plugin.told).toEqual(Array(6).fill(text));
  });

  it('one that its handler refuses is told why', async () => {
    await start();
    const plugin = world.add('old', { says: { supportedVersions: ['0.1.0'] } });
    await world.advance(300);
    expect(plugin.told).toEqual([
      'RegisterPlugin error -- plugin validation failed with err: no version of old is known',
    ]);
    plugin.says = {};
    await world.advance(1000);
    expect(world.calls).toEqual([`register old ${at('old')}`]);
  });

  it('one that claims the name of another is refused while that one is there', async () => {
    await start();
    await good();
    const liar = world.add('liar', { says: { name: 'good', endpoint: '/liar.sock' } });
    await world.advance(400);
    expect(liar.told).toEqual([
      'RegisterPlugin error -- plugin validation failed with err: good is already registered',
    ]);
    expect(world.names.get('good')).toBe(at('good'));
    await world.remove('liar');
    await world.advance(1000);
    expect(world.names.get('good')).toBe(at('good'));
    expect(world.calls).not.toContain('deregister good');
  });

  it('one that registers twice at the same moment is registered once', async () => {
    await start((w) => {
      w.add('one', { says: { name: 'twin' } });
      w.add('two', { says: { name: 'twin' } });
    });
    await world.advance(1000);
    expect(world.calls).toHaveLength(1);
    const [, first = ''] = /registry\/(\w+)/.exec(world.calls[0] ?? '') ?? [];
    await world.remove(first);
    await world.advance(130_000);
    expect(world.calls).toHaveLength(3);
    expect(world.names.get('twin')).toBe(at(first === 'one' ? 'two' : 'one'));
  });

  it('one that dies while it is being registered is told nothing and not kept', async () => {
    await start();
    world.onRegister = async () => {
      await world.host.files.unlink(at('mayfly'));
    };
    world.add('mayfly', {
      onNotify: async () => {
        throw new GrpcError('Unavailable', 'connection refused');
      },
    });
    await world.advance(1000);
    expect(world.calls).toEqual([`register mayfly ${at('mayfly')}`, 'deregister mayfly']);
    expect(world.names.size).toBe(0);
    expect(world.manager?.sockets()).toEqual({ desired: [], actual: [] });
  });

  it('one that cannot be used is told why, and nothing of it is left', async () => {
    await start();
    world.onRegister = async () => {
      throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
    };
    const plugin = world.add('useless');
    await world.advance(400);
    expect(plugin.told).toEqual([
      'RegisterPlugin error -- plugin registration failed with err: error adding CSI driver node info: driverNodeID must not be empty',
    ]);
    expect(world.names.size).toBe(0);
    expect(world.calls).toEqual([]);
  });

  it('one whose registration never ends is given up and undone', async () => {
    await start();
    let aborted = 0;
    world.onRegister = (_, signal) =>
      new Promise(() => signal.addEventListener('abort', () => aborted++, { once: true }));
    world.add('endless');
    await world.advance(181_000);
    expect(aborted).toBe(1);
    expect(world.calls).toEqual(['deregister endless']);
  });

  it('one whose registration takes long delays no other', async () => {
    await start();
    world.onRegister = ({ name }) => (name === 'slow' ? new Promise(() => {}) : Promise.resolve());
    world.add('slow');
    await world.advance(1000);
    await good();
    expect(world.calls).toHaveLength(1);
  });

  it('one that hangs when it is told is given up after 5 s and deregistered', async () => {
    await start();
    world.add('deaf', { onNotify: () => new Promise(() => {}) });
    await world.advance(5400);
    expect(world.calls).toEqual([`register deaf ${at('deaf')}`, 'deregister deaf']);
    expect(world.names.size).toBe(0);
    await world.advance(600);
    expect(world.calls).toHaveLength(3);
  });

  it('a thousand sockets and endless directories are bounded', async () => {
    await start(async (w) => {
      for (let n = 0; n < 1000; n++) w.add(`n${n}`, { onInfo: () => new Promise(() => {}) });
      await w.host.files.mkdir(`${directory}/${'deep/'.repeat(20)}`, { recursive: true });
    });
    await world.advance(1000);
    expect(world.open).toBe(256);
    const [problem = ''] = world.problems();
    expect(problem).toContain('744 sockets are left out: more than 256 are in');
    expect(problem).toContain('too many directories');
  });

  it('a directory that cannot be read keeps what is registered', async () => {
    await start();
    await good();
    world.host.inject({
      at: ({ operation, path }) => operation === 'hold' && path === directory,
      when: 'before',
      effect: { kind: 'fail', code: 'EIO' },
    });
    await world.advance(15_000);
    expect(world.calls).toEqual([`register good ${at('good')}`]);
    expect(world.problems()[0]).toContain(`${directory}: `);
  });
});
