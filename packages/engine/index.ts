/** The data plane: what the service and the command line build on. */
export * from './ports/index.ts';
export * from './sources/firestore/index.ts';
export * from './stores/index.ts';
