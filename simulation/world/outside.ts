/** What happens to a simulated node from outside of its kubelet: each act of a plan, done. */
import type { Step } from '../plan/step.js';
import type { Director } from '../ports/director.js';
import type { SimulatedNode } from './simulated-node.js';
import type { Users } from './users.js';

/** What acts on the kubelet's process itself. */
export interface KubeletControl {
  armDeath(step: Extract<Step, { act: 'die' }>): void;
  stop(downMs: number): void;
  /** The machine goes down; its processes are gone. */
  powerOff(downMs: number, act: () => void): void;
  setStatics(): void;
}

export interface OutsideOptions {
  readonly node: SimulatedNode;
  readonly users: Users;
  readonly director: Director;
  readonly control: KubeletControl;
  /** Does what is not the kubelet's doing. */
  readonly asOutside: (act: () => void) => void;
  /** Told of a container that somebody else than the kubelet is about to make. */
  readonly onInvent: (name: string) => void;
}

export class Outside {
  readonly #options: OutsideOptions;

  constructor(options: OutsideOptions) {
    this.#options = options;
  }

  async act(step: Step): Promise<void> {
    const { node, users, director, control } = this.#options;
    const { runtime, api } = node;
    switch (step.act) {
      case 'create':
        return users.create(step.name, step.draft);
      case 'delete':
        return users.delete(step.name, step.graceSeconds);
      case 'edit':
        return users.edit(step.name, step.image);
      case 'resize':
        return users.resize(step.name, step.cpu);
      case 'config':
        return users.configure(step.name, step.value);
      case 'manifest':
        users.manifest(step.name, step.image, step.graceSeconds);
        return control.setStatics();
      case 'exit':
      case 'forget-container':
        return this.#onContainer(step);
      case 'kill-sandbox':
      case 'forget-sandbox':
      case 'invent-container':
        return await this.#onSandbox(step);
      case 'break-events':
        return runtime.breakEventStreams();
      case 'runtime-away':
        runtime.goAway();
        return this.#later(step.forMs, () => runtime.comeBack());
      case 'network-away':
        runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
        return this.#later(step.forMs, () => runtime.setCondition('NetworkReady', true));
      case 'reboot':
        return this.#reboot(step);
      case 'pressure':
        node.load?.press(step.of);
        users.hadPressure ||= node.load !== undefined;
        return this.#later(step.forMs, () => node.load?.becomeCalm());
      case 'device-plugin-away':
        node.devicePlugin?.kill();
        return this.#later(step.forMs, () => node.devicePlugin?.start());
      case 'device-health':
        return node.devicePlugin?.turnHealth(step.pick);
      case 'csi-driver-away':
        node.storage?.driver.kill();
        return this.#later(step.forMs, () => void node.storage?.driver.start());
      case 'disk-full':
        director.diskFull = true;
        return this.#later(step.forMs, () => {
          director.diskFull = false;
        });
      case 'jump':
        return node.clock.jumpWall(step.byMs);
      case 'api-away':
        director.apiAway = true;
        api.cutWatches();
        return this.#later(step.forMs, () => {
          director.apiAway = false;
        });
      case 'cut-watches':
        return api.cutWatches();
      case 'end-watches':
        return api.endWatches();
      case 'compact':
        return api.compact();
      case 'die':
        return control.armDeath(step);
      case 'stop':
        return control.stop(step.downMs);
      case 'fault':
        return director.arm(step.fault);
    }
  }

  /** Nothing goes wrong any more. */
  async becomeCalm(): Promise<void> {
    const { node, director } = this.#options;
    director.becomeCalm();
    node.runtime.comeBack();
    node.runtime.setCondition('NetworkReady', true);
    node.load?.becomeCalm();
    node.devicePlugin?.becomeCalm();
    await node.storage?.driver.start();
  }

  #onContainer(step: Extract<Step, { act: 'exit' | 'forget-container' }>): void {
    const { node, asOutside } = this.#options;
    const found = at(
      step.act === 'exit' ? node.runtime.runningContainers : node.runtime.allContainers,
      step.pick,
    );
    if (found === undefined) return;
    asOutside(() => {
      if (step.act === 'exit') node.runtime.exitContainer(found.id, step.code);
      else node.runtime.forgetContainer(found.id);
    });
  }

  async #onSandbox(
    step: Extract<Step, { act: 'kill-sandbox' | 'forget-sandbox' | 'invent-container' }>,
  ): Promise<void> {
    const { node, asOutside, onInvent } = this.#options;
    const found = at(node.runtime.allSandboxes, step.pick);
    if (found === undefined) return;
    if (step.act === 'kill-sandbox') asOutside(() => node.runtime.killSandbox(found.id));
    else if (step.act === 'forget-sandbox') asOutside(() => node.runtime.forgetSandbox(found.id));
    else {
      const [model] = found.containers;
      if (model === undefined || !found.ready) return;
      const name = `stranger-${step.pick}`;
      onInvent(name);
      const { containerId } = await node.runtime
        .createContainer({
          podSandboxId: found.id,
          config: {
            ...model.config,
            metadata: { name, attempt: 0 },
            labels: { ...model.config.labels, 'io.kubernetes.container.name': name },
          },
          sandboxConfig: found.config,
        })
        // One of the name is there already, or the runtime is away.
        .catch(() => ({ containerId: '' }));
      // It may take time, which does not pass while somebody waits for a step.
      if (containerId !== '') void node.runtime.startContainer({ containerId }).catch(() => undefined);
    }
  }

  async #reboot({ power, downMs }: Extract<Step, { act: 'reboot' }>): Promise<void> {
    const { node, control, asOutside } = this.#options;
    control.powerOff(downMs, () => {
      asOutside(() => node.runtime.reboot());
      if (power === 'kept') node.files.reboot();
      else node.files.powerCut({ unsyncedBytes: 'lost', unsyncedNames: 'undone' });
      node.devicePlugin?.kill();
      node.storage?.driver.kill();
    });
    node.devicePlugin?.start();
    await node.storage?.driver.start();
  }

  #later(ms: number, act: () => void): void {
    this.#options.node.clock.setTimer(ms, act);
  }
}

function at<T>(items: readonly T[], pick: number): T | undefined {
  return items[pick % items.length];
}
