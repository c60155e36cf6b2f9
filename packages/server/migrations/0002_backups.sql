CREATE TABLE "backup_copies" (
	"organization_id" text NOT NULL,
	"backup_id" text NOT NULL,
	"storage_destination_id" text NOT NULL,
	"position" integer NOT NULL,
	"status" text NOT NULL,
	"error" jsonb,
	CONSTRAINT "backup_copies_backup_id_storage_destination_id_pk" PRIMARY KEY("backup_id","storage_destination_id")
);
--> statement-breakpoint
ALTER TABLE "backup_copies" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "backup_ranges" (
	"organization_id" text NOT NULL,
	"backup_id" text NOT NULL,
	"range" integer NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"is_complete" boolean DEFAULT false NOT NULL,
	"state" jsonb,
	"documents" bigint DEFAULT 0 NOT NULL,
	"bytes" bigint DEFAULT 0 NOT NULL,
	"reads" bigint DEFAULT 0 NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "backup_ranges_backup_id_range_pk" PRIMARY KEY("backup_id","range")
);
--> statement-breakpoint
ALTER TABLE "backup_ranges" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "backups" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"type" text NOT NULL,
	"status" text NOT NULL,
	"trigger" text NOT NULL,
	"schedule_id" text,
	"parent_id" text,
	"collections" jsonb NOT NULL,
	"exclude_collections" jsonb NOT NULL,
	"include_subcollections" boolean NOT NULL,
	"include_auth_users" boolean NOT NULL,
	"document_paths" jsonb,
	"imported" jsonb,
	"storage_destination_id" text NOT NULL,
	"admitted_at" timestamp (3) with time zone,
	"started_at" timestamp (3) with time zone,
	"deadline_at" timestamp (3) with time zone,
	"completed_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone,
	"plan" jsonb,
	"envelope" jsonb,
	"key_id" text,
	"snapshot_time" text,
	"snapshots" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"phase" text NOT NULL,
	"percent" integer DEFAULT 0 NOT NULL,
	"percent_told" integer DEFAULT 0 NOT NULL,
	"documents_expected" bigint,
	"documents_done" bigint DEFAULT 0 NOT NULL,
	"bytes_done" bigint DEFAULT 0 NOT NULL,
	"reads_used" bigint DEFAULT 0 NOT NULL,
	"document_count" bigint,
	"size" bigint,
	"compressed_size" bigint,
	"collection_count" integer,
	"sha256" text,
	"legal_hold" boolean DEFAULT false NOT NULL,
	"locked_until" timestamp (3) with time zone,
	"verified_at" timestamp (3) with time zone,
	"verification" jsonb,
	"warnings" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "backups" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "backup_copies" ADD CONSTRAINT "backup_copies_backup_id_backups_id_fk" FOREIGN KEY ("backup_id") REFERENCES "public"."backups"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "backup_ranges" ADD CONSTRAINT "backup_ranges_backup_id_backups_id_fk" FOREIGN KEY ("backup_id") REFERENCES "public"."backups"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "backups" ADD CONSTRAINT "backups_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "backup_copies_by_destination" ON "backup_copies" USING btree ("organization_id","storage_destination_id");--> statement-breakpoint
CREATE INDEX "backups_by_organization" ON "backups" USING btree ("organization_id","id") WHERE "backups"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "backups_by_project" ON "backups" USING btree ("organization_id","project_id","id");--> statement-breakpoint
CREATE INDEX "backups_by_parent" ON "backups" USING btree ("organization_id","parent_id");--> statement-breakpoint
CREATE INDEX "backups_waiting" ON "backups" USING btree ("created_at") WHERE "backups"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "backups_running" ON "backups" USING btree ("organization_id") WHERE "backups"."status" = 'running';--> statement-breakpoint
CREATE POLICY "tenant" ON "backup_copies" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("backup_copies"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("backup_copies"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "backup_copies" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "backup_ranges" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("backup_ranges"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("backup_ranges"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "backup_ranges" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "backups" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("backups"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("backups"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "backups" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);