export { DIALECT_NAMES, type DialectName, type RestCrmSandboxOptions } from './options.ts';
export { type RestCrmSandbox, startRestCrmSandbox } from './sandbox.ts';
export type { StoredRecord } from './tables.ts';
