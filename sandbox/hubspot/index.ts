export type { PersonsAnswer } from '../kit/oauth/browser.ts';
export type { ObjectTypeName } from './object-types.ts';
export type { HubSpotSandboxOptions } from './options.ts';
export type { RecordResource } from './resource.ts';
export { startHubSpotSandbox } from './sandbox.ts';
export type { HubSpotSandbox } from './verbs.ts';
