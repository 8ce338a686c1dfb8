export { startSmsSandbox } from './sandbox.ts';
export type { SignedRequest, SmsSandbox } from './types.ts';
