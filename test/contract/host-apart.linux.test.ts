/** This machine with its file calls made in lanes: the same contract holds. */
import { hostApart } from '../../src/host/index.js';
import { describeHostContract } from './host-contract.js';
import { onThisMachine } from './host-linux.js';

onThisMachine((name, create) =>
  describeHostContract(`${name}, apart`, async () => {
    const underTest = await create();
    return { ...underTest, host: hostApart(underTest.host, 'contract') };
  }),
);
