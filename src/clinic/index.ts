export { createClinicClient } from './client.ts';
export { CompiledProfile } from './compiled.ts';
export type { ClinicContext } from './context.ts';
