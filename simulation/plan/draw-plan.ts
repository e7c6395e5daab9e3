/** Draws a plan from a seed: the same plan for the same seed and profile, on any machine. */
import { Draw, mixedSeed } from '../draw.js';
import { claimName } from '../world/storage.js';
import { portFaults } from './port-faults.js';
import { type Profile, type ProfileName, profiles } from './profiles.js';
import type { Act, CallFault, Effect, NodeDraft, Plan, PodDraft, PortName, Step } from './step.js';

export function drawPlan(seed: number, profileName?: ProfileName): Plan {
  const draw = new Draw(mixedSeed(seed, 1));
  const names = Object.keys(profiles) as [ProfileName, ...ProfileName[]];
  const profile = profiles[profileName ?? draw.of(names)];
  const node: NodeDraft = {
    events: draw.chance(0.7),
    cpuManager: draw.chance(profile.cpuManager),
    eviction: draw.chance(profile.eviction),
    startsAtOnce: draw.between(1, 6),
    devices: draw.chance(profile.devices),
    csi: draw.chance(profile.csi),
  };
  const steps: Step[] = [];
  const plot = new Plot(draw, profile, node);
  let atMs = draw.between(0, 3_000);
  const count = draw.between(profile.steps[0], profile.steps[1]);
  for (let made = 0; made < count; made++) {
    const act = plot.next();
    if (act !== undefined) steps.push({ atMs, ...act });
    if (!draw.chance(0.35)) atMs += draw.between(1, profile.pauseMs);
  }
  return { seed, node, steps, calmAtMs: atMs + 1_000 };
}

class Plot {
  readonly #draw: Draw;
  readonly #profile: Profile;
  readonly #node: NodeDraft;
  readonly #names = new Set<string>();
  #made = 0;
  #skewMs = 0;

  constructor(draw: Draw, profile: Profile, node: NodeDraft) {
    this.#node = node;
    this.#draw = draw;
    this.#profile = profile;
  }

  next(): Act | undefined {
    const choices = Object.entries(this.#profile.weights).map(([act, weight]): [number, string] => [
      weight,
      act,
    ]);
    const kind = this.#draw.weighted(choices);
    return kind === undefined ? undefined : this.#act(kind);
  }

  #act(kind: string): Act | undefined {
    const draw = this.#draw;
    const pick = draw.below(1000);
    switch (kind) {
      case 'create':
        return this.#create();
      case 'delete': {
        const name = this.#name();
        if (name === undefined) return undefined;
        return draw.chance(0.5)
          ? { act: 'delete', name }
          : { act: 'delete', name, graceSeconds: draw.of([0, 0, 1, 3, 10]) };
      }
      case 'edit': {
        const name = this.#name();
        return name === undefined ? undefined : { act: 'edit', name, image: `app:${draw.between(2, 40)}` };
      }
      case 'resize': {
        const name = this.#name();
        return name === undefined ? undefined : { act: 'resize', name, cpu: `${draw.between(1, 20) * 50}m` };
      }
      case 'config': {
        const name = this.#name();
        return name === undefined ? undefined : { act: 'config', name, value: `value-${pick}` };
      }
      case 'manifest': {
        const name = `static-${draw.below(3)}`;
        const graceSeconds = draw.between(1, 5);
        return draw.chance(0.35)
          ? { act: 'manifest', name, graceSeconds }
          : { act: 'manifest', name, image: `web:${draw.below(4)}`, graceSeconds };
      }
      case 'exit':
        return { act: 'exit', pick, code: draw.below(3) };
      case 'kill-sandbox':
      case 'forget-container':
      case 'forget-sandbox':
      case 'invent-container':
        return { act: kind, pick };
      case 'break-events':
      case 'cut-watches':
      case 'end-watches':
      case 'compact':
        return { act: kind };
      case 'runtime-away':
      case 'network-away':
      case 'api-away':
      case 'disk-full':
        return { act: kind, forMs: draw.between(100, 20_000) };
      case 'pressure':
        return this.#node.eviction
          ? { act: 'pressure', of: draw.of(['memory', 'disk']), forMs: draw.between(1_000, 40_000) }
          : undefined;
      case 'device-plugin-away':
        return this.#node.devices ? { act: kind, forMs: draw.between(100, 60_000) } : undefined;
      case 'csi-driver-away':
        return this.#node.csi ? { act: kind, forMs: draw.between(100, 30_000) } : undefined;
      case 'device-health':
        return this.#node.devices ? { act: kind, pick } : undefined;
      case 'reboot':
        return { act: 'reboot', power: draw.of(['kept', 'lost']), downMs: draw.between(1_000, 30_000) };
      case 'jump': {
        // In the end the clock is right again, as time servers see to.
        const byMs =
          this.#skewMs !== 0
            ? -this.#skewMs
            : draw.of([-3_600_000, -60_000, -5_000, 5_000, 60_000, 3_600_000]);
        this.#skewMs += byMs;
        return { act: 'jump', byMs };
      }
      case 'die':
        return {
          act: 'die',
          at: { skip: draw.below(20), when: draw.of(['before', 'after']) },
          downMs: draw.of([10, 1_000, 5_000, 15_000]),
        };
      case 'stop':
        return { act: 'stop', downMs: draw.of([10, 1_000, 10_000]) };
      case 'cri':
      case 'api':
      case 'host':
      case 'device':
      case 'csi':
        return { act: 'fault', fault: this.#fault(kind) };
      default:
        throw new Error(`no act ${kind}`);
    }
  }

  #name(): string | undefined {
    const names = [...this.#names];
    return names[this.#draw.below(names.length)];
  }

  #create(): Act {
    const draw = this.#draw;
    const old = this.#name();
    // A name that was used before, or is in use: then nothing is created.
    const name = old !== undefined && draw.chance(0.3) ? old : `pod-${this.#made++}`;
    this.#names.add(name);
    if (this.#names.size > this.#profile.names) this.#names.delete([...this.#names][0] ?? '');
    return { act: 'create', name, draft: this.#draft() };
  }

  #draft(): PodDraft {
    const draw = this.#draw;
    const sim: Record<string, string> = {};
    if (draw.chance(0.3)) sim['stop-delay'] = `${draw.below(4_000)}ms`;
    if (draw.chance(0.1)) sim['ignores-term'] = 'true';
    if (draw.chance(0.2)) sim['start-delay'] = `${draw.below(900)}ms`;
    if (draw.chance(0.1)) sim['pull-time'] = `${draw.below(3_000)}ms`;
    if (draw.chance(0.15)) sim['run-time'] = `${draw.between(1, 20_000)}ms`;
    if (draw.chance(0.1)) sim['exit-code'] = draw.of(['0', '1', '3']);
    if (sim['exit-code'] !== undefined) sim['run-time'] ??= '1s';
    if (draw.chance(0.03)) sim['start-error'] = 'no such file';
    const restartPolicy = draw.of(['Always', 'Always', 'OnFailure', 'Never'] as const);
    return {
      containers: draw.of([1, 1, 1, 2, 3]),
      ...(draw.chance(0.25) ? { init: draw.of(['plain', 'sidecar'] as const) } : {}),
      graceSeconds: draw.between(1, 8),
      ...(restartPolicy === 'Always' ? {} : { restartPolicy }),
      ...(Object.keys(sim).length === 0 ? {} : { sim }),
      ...(draw.chance(this.#profile.probes) ? { probes: true } : {}),
      ...(draw.chance(this.#profile.volumes) ? { volumes: true } : {}),
      ...(draw.chance(0.1) ? { preStop: true } : {}),
      ...this.#amounts(),
      ...(draw.chance(0.05) ? { hostNetwork: true } : {}),
      ...(draw.chance(0.05) ? { hostPort: draw.between(8_080, 8_082) } : {}),
      ...(this.#node.devices && draw.chance(this.#profile.devices)
        ? { devices: draw.of([1, 1, 2] as const) }
        : {}),
      ...(this.#node.csi && draw.chance(this.#profile.csi)
        ? { claim: claimName(draw.of(['node', 'node', 'pod']), draw.below(3)) }
        : {}),
    };
  }

  #amounts(): Pick<PodDraft, 'cpu' | 'memory' | 'guaranteed'> {
    const draw = this.#draw;
    if (this.#node.cpuManager && draw.chance(0.35))
      return { cpu: draw.of(['1', '1', '2']), memory: '64Mi', guaranteed: true };
    return draw.chance(0.3) ? { cpu: draw.of(['50m', '100m', '200m']), memory: '64Mi' } : {};
  }

  #fault(port: PortName): CallFault {
    const draw = this.#draw;
    const { calls, codes } = portFaults[port];
    const effect = draw.weighted<Effect>([
      [4, { do: 'fail', code: draw.of(codes) }],
      [3, { do: 'lose' }],
      [2, { do: 'delay', ms: draw.between(1, 8_000) }],
      [2, { do: 'late', ms: draw.between(1, 8_000) }],
      [1, { do: 'hang' }],
      [1, { do: 'twice' }],
    ]) ?? { do: 'lose' };
    return {
      port,
      ...(draw.chance(0.2) ? {} : { call: draw.of(calls) }),
      skip: draw.below(4),
      times: draw.chance(0.7) ? 1 : draw.between(2, 6),
      effect,
    };
  }
}
