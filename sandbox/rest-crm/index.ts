export { DIALECT_NAMES, type DialectName } from './options.ts';
export { startRestCrmSandbox } from './sandbox.ts';
export type { Field, StoredRecord } from './tables.ts';
export type { RestCrmSandbox } from './types.ts';
