/** What any `CriRuntime` must do: one suite that the simulated, the real and every other runtime pass alike. */
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { describeContainers } from './cri-contract-containers.js';
import { describeDeaths } from './cri-contract-deaths.js';
import { type Contract, ContractPods, type CriContractSubject } from './cri-contract-pods.js';
import { describeReboot } from './cri-contract-reboot.js';
import { describeSandboxes } from './cri-contract-sandboxes.js';
import { describeStreams } from './cri-contract-streams.js';
import { describeSurroundings } from './cri-contract-surroundings.js';

export type { CriContractSubject } from './cri-contract-pods.js';

/** Adds the suite; `start` is called once, before its first test. */
export function describeCriContract(name: string, start: () => Promise<CriContractSubject>): void {
  describe(`CRI contract: ${name}`, () => {
    let subject: CriContractSubject;
    let pods: ContractPods | undefined;
    beforeAll(async () => {
      subject = await start();
    });
    afterAll(async () => {
      await subject?.close();
    });
    afterEach(async () => {
      await pods?.removeAll();
    });
    const contract: Contract = {
      subject: () => subject,
      cri: () => subject.runtime,
      fresh: () => {
        pods = new ContractPods(subject);
        return pods;
      },
    };
    describeSurroundings(contract);
    describeSandboxes(contract);
    describeContainers(contract);
    describeStreams(contract);
    describeDeaths(contract);
    describeReboot(contract);
  });
}
