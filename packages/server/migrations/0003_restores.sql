CREATE TABLE "drills" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"backup_id" text NOT NULL,
	"project_id" text NOT NULL,
	"target_project_id" text,
	"status" text NOT NULL,
	"percent" integer DEFAULT 0 NOT NULL,
	"documents_done" bigint DEFAULT 0 NOT NULL,
	"bytes_done" bigint DEFAULT 0 NOT NULL,
	"report" jsonb,
	"signed_report" text,
	"error" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "drills" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "restores" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"backup_id" text NOT NULL,
	"project_id" text NOT NULL,
	"target_project_id" text NOT NULL,
	"status" text NOT NULL,
	"phase" text NOT NULL,
	"merge_mode" text NOT NULL,
	"dry_run" boolean NOT NULL,
	"collections" jsonb,
	"document_paths" jsonb,
	"include_auth_users" boolean NOT NULL,
	"include_subcollections" boolean NOT NULL,
	"safety_backup" boolean NOT NULL,
	"rewrite_references" boolean NOT NULL,
	"delete_extra" boolean NOT NULL,
	"safety_backup_id" text,
	"epoch" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"admitted_at" timestamp (3) with time zone,
	"started_at" timestamp (3) with time zone,
	"completed_at" timestamp (3) with time zone,
	"checkpoint" jsonb NOT NULL,
	"percent" integer DEFAULT 0 NOT NULL,
	"percent_told" integer DEFAULT 0 NOT NULL,
	"documents_expected" bigint,
	"documents_restored" bigint DEFAULT 0 NOT NULL,
	"documents_skipped" bigint DEFAULT 0 NOT NULL,
	"documents_deleted" bigint DEFAULT 0 NOT NULL,
	"bytes_done" bigint DEFAULT 0 NOT NULL,
	"collections_restored" integer DEFAULT 0 NOT NULL,
	"preview" jsonb,
	"error_count" bigint DEFAULT 0 NOT NULL,
	"error_sample" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "restores" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "drills" ADD CONSTRAINT "drills_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "restores" ADD CONSTRAINT "restores_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "drills_by_backup" ON "drills" USING btree ("organization_id","backup_id","id");--> statement-breakpoint
CREATE INDEX "restores_by_organization" ON "restores" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "restores_by_backup" ON "restores" USING btree ("organization_id","backup_id");--> statement-breakpoint
CREATE INDEX "restores_open" ON "restores" USING btree ("organization_id","target_project_id") WHERE "restores"."status" in ('pending', 'running');--> statement-breakpoint
CREATE POLICY "tenant" ON "drills" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("drills"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("drills"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "drills" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "restores" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("restores"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("restores"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "restores" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);