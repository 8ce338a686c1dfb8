import type { Counts } from '../kit/counts.ts';
import type { FaultPlan } from '../kit/faults.ts';
import type { RunningServer } from '../kit/listen.ts';
import type { Recording } from '../kit/recording.ts';
import type { ExampleCall, Login } from './dialect.ts';
import type { Settings } from './options.ts';
import type { Field, StoredRecord, Values } from './tables.ts';

/** One CRM in memory, and what a person can do in it. */
export interface RestCrmSandbox extends RunningServer {
  /** Base address of the API. */
  apiUrl: string;
  /** The key or token that is let in. */
  token: string;
  /** The header that carries it. */
  login: Login;
  /** A call that works at once. */
  example: ExampleCall;
  counts: Counts;
  faults: FaultPlan;
  recording: Recording;
  configure(changes: Partial<Pick<Settings, 'requestsPerMinute' | 'searchLagMs' | 'emptyListIs404'>>): void;
  /** What a person sees, in the order of their making. @param kind as paths name it, such as `Contact` */
  records(kind: string): StoredRecord[];
  addByHand(kind: string, values: Values): StoredRecord;
  editByHand(kind: string, id: string, values: Values): void;
  deleteByHand(kind: string, id: string): void;
  /** Presses "Duplicate" and saves: all values are copied. */
  duplicateByHand(kind: string, id: string): StoredRecord;
  /** Records on which the account's workflows ran; zoho alone has any. */
  automationsRun(): number;
  /** Makes a field, or changes one. */
  addField(kind: string, name: string, field: Field): void;
  removeField(kind: string, name: string): void;
  /** The login is let in no more, but this one is. */
  replaceToken(token: string): void;
}
