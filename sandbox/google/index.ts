export type { PersonsAnswer } from '../kit/oauth/browser.ts';
export type { EventResource } from './event-resource.ts';
export { GOOGLE } from './oauth.ts';
export type { GoogleSandboxOptions } from './options.ts';
export { startGoogleSandbox } from './sandbox.ts';
export type { ServiceAccountKeyFile } from './service-accounts.ts';
export type { GoogleSandbox } from './verbs.ts';
