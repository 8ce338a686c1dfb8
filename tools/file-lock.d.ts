/** See file-lock.js. */
export function withFileLock<Result>(path: string, onWait: () => void, work: () => Promise<Result>): Promise<Result>;
