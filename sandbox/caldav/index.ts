export { DIALECT_NAMES, type DialectName } from './options.ts';
export { type CaldavSandbox, startCaldavSandbox } from './sandbox.ts';
