export { createClinicClient } from './client.ts';
export type { ClinicContext } from './http/context.ts';
export { CompiledProfile } from './schema/compiled.ts';
