/** Progress for whoever watches: a word and, where known, how far. */
export type Progress = (step: string, done?: number, total?: number) => void;
