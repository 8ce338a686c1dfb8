export type { PersonsAnswer } from '../kit/oauth/browser.ts';
export type { SeenRecord } from './by-hand.ts';
export type { FieldAccess, FieldOptions } from './fields.ts';
export type { Application, SalesforceSandboxOptions } from './options.ts';
export { startSalesforceSandbox } from './sandbox.ts';
export type { SalesforceSandbox } from './verbs.ts';
