import type { Counts } from '../kit/counts.ts';
import type { FaultPlan } from '../kit/faults.ts';
import type { RunningServer } from '../kit/listen.ts';
import type { Recording } from '../kit/recording.ts';
import type { ExampleCall, Login } from './dialect.ts';
import type { Settings } from './options.ts';
import type { Field, StoredRecord, Values } from './tables.ts';

/** One CRM in memory, and the manual actions of its users. */
export interface RestCrmSandbox extends RunningServer {
  /** Base URL of the API. */
  apiUrl: string;
  /** The accepted key or token. */
  token: string;
  /** The header with the token. */
  login: Login;
  /** A call that succeeds on a new sandbox. */
  example: ExampleCall;
  counts: Counts;
  faults: FaultPlan;
  recording: Recording;
  configure(
    changes: Partial<Pick<Settings, 'requestsPerMinute' | 'searchLagMs' | 'notWritable' | 'emptyListIs404'>>,
  ): void;
  /** Returns the records that a user sees, in order of creation. @param kind name in the API's paths, such as `Contact` */
  records(kind: string): StoredRecord[];
  addByHand(kind: string, values: Values): StoredRecord;
  editByHand(kind: string, id: string, values: Values): void;
  deleteByHand(kind: string, id: string): void;
  /** Presses "Duplicate" and saves: all values are copied. */
  duplicateByHand(kind: string, id: string): StoredRecord;
  /** Number of records on which the account's workflows ran; only zoho has workflows. */
  automationsRun(): number;
  /** Creates or changes a field. */
  addField(kind: string, name: string, field: Field): void;
  removeField(kind: string, name: string): void;
  /** Replaces the accepted token. The previous token is refused. */
  replaceToken(token: string): void;
}
