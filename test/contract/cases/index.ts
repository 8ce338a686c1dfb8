import type { ContractCase } from '../contract-case.ts';
import { adoption } from './adoption.ts';
import { authorization } from './authorization.ts';
import { batches } from './batches.ts';
import { budget } from './budget.ts';
import { changes } from './changes.ts';
import { containers } from './containers.ts';
import { data } from './data.ts';
import { histories } from './histories.ts';
import { lostAnswers } from './lost-answers.ts';
import { notifications } from './notifications.ts';
import { people } from './people.ts';
import { privacy } from './privacy.ts';
import { repetition } from './repetition.ts';
import { throttling } from './throttling.ts';
import { times } from './times.ts';
import { transport } from './transport.ts';
import { twoWorkers } from './two-workers.ts';

/** Every case of the contract, in the order of the table. */
export const cases: readonly ContractCase[] = [
  ...repetition,
  ...lostAnswers,
  ...twoWorkers,
  ...people,
  ...adoption,
  ...batches,
  ...throttling,
  ...authorization,
  ...transport,
  ...data,
  ...times,
  ...privacy,
  ...budget,
  ...changes,
  ...notifications,
  ...containers,
  ...histories,
];
