export type { FaultRule } from '../kit/faults.ts';
export type { PersonsAnswer } from '../kit/oauth/browser.ts';
export type { RowOperation } from './counts.ts';
export type { ObjectTypeName } from './object-types.ts';
export type { Application, HubSpotSandboxOptions } from './options.ts';
export type { RecordResource } from './resource.ts';
export { startHubSpotSandbox } from './sandbox.ts';
export type { HubSpotSandbox, TokenWish } from './verbs.ts';
