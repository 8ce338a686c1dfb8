export { type AppointmentQuery, type ClinicClient, createClinicClient, type TenantInfo } from './client.ts';
export { CompiledProfile } from './compiled.ts';
export type { ClinicAuthorization, ClinicContext } from './context.ts';
export type { ListPage } from './lists.ts';
export type { TenantReference, UserInfo } from './users.ts';
