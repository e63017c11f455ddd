//! The contract of `ports::store`.
//! Each test takes a fresh store of any engine; an adapter runs all tests with one macro call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod answer_sources;
mod archive;
mod comparisons;
mod deletion;
mod documents;
mod entities;
mod erasure;
mod events;
mod files;
mod forget;
mod given;
pub(crate) mod graph;
mod isolation;
mod jobs;
mod knowledge;
mod learning;
mod lists;
mod logins;
mod memory_events;
mod messages;
mod passages;
mod postgres;
mod relations;
mod sessions;
mod sqlite;
mod topics;
mod usage;
mod values;
mod vectors;
mod visits;

/// Runs the contract against the stores of a factory with `async fn store(&self) -> Option<Arc<dyn Store>>`.
/// The factory returns `None` where the engine is not available.
macro_rules! store_contract {
    ($factory:expr) => {
        $crate::contract::store::store_contract! { @tests $factory;
            isolation::store_functions_never_cross_users,
            isolation::two_users_can_have_same_ids,
            messages::stored_message_reads_back_unchanged,
            messages::messages_are_found_by_session_and_time,
            answer_sources::sources_of_an_answer_are_kept_with_its_question,
            messages::resources_are_read_in_order_and_deleted_with_their_message,
            messages::messages_are_found_by_their_resources,
            messages::message_without_text_has_no_index_entry,
            messages::extreme_timestamps_are_stored_and_listed,
            messages::known_external_id_stores_nothing,
            messages::messages_are_found_by_the_ids_of_the_client,
            messages::duplicates_within_one_batch_are_stored_once,
            messages::concurrent_duplicates_are_stored_once,
            messages::append_to_unknown_session_stores_nothing,
            messages::concurrent_appends_leave_no_gaps_in_numbers,
            messages::message_feed_is_ordered_and_hides_foreign_vectors,
            messages::message_feed_misses_no_row_during_appends,
            messages::vector_search_equals_brute_force,
            messages::messages_before_a_position_are_oldest_first,
            messages::session_title_is_set_once,
            jobs::lane_runs_one_job_at_a_time_in_order,
            jobs::lanes_of_a_session_run_concurrently,
            jobs::expired_lease_is_due_again_and_fences_late_worker,
            jobs::retried_job_waits_and_keeps_its_place,
            jobs::released_job_keeps_its_attempts,
            jobs::lost_leases_are_released,
            jobs::dead_letter_does_not_block_later_jobs,
            jobs::long_backlog_does_not_starve_other_session,
            jobs::users_take_turns_regardless_of_session_count,
            jobs::turns_skip_users_without_due_jobs,
            jobs::concurrent_workers_never_claim_same_job,
            jobs::job_keeps_caller_and_role,
            jobs::answer_can_be_cancelled_at_any_stage,
            events::event_numbers_have_no_gaps,
            events::pruning_keeps_head_and_removes_prefix,
            events::pruning_by_age_works_in_bounded_steps,
            memory_events::memory_log_has_events_of_all_sessions_in_order,
            memory_events::memory_log_misses_nothing_during_concurrent_writes,
            memory_events::commits_are_reported_in_the_order_of_their_numbers,
            memory_events::deleted_session_ends_the_replay_of_its_events,
            memory_events::pruning_raises_the_floor_of_the_memory,
            memory_events::forgotten_events_end_the_replay_before_them,
            memory_events::erasure_and_adoption_expire_the_memory_log,
            knowledge::plan_commits_atomically_and_ends_its_job,
            knowledge::plan_from_older_version_is_stale,
            knowledge::only_one_concurrent_plan_is_committed,
            knowledge::refused_plan_leaves_nothing_behind,
            knowledge::repeated_evidence_counts_once,
            knowledge::stored_zero_has_no_sign,
            knowledge::merge_moves_everything_and_old_ids_still_resolve,
            knowledge::facts_are_found_by_key_and_by_entity,
            values::values_tell_facts_apart_and_are_found,
            values::merge_record_keeps_values,
            values::archive_keeps_values_and_refuses_changed_ones,
            knowledge::facts_are_filtered_by_time,
            knowledge::facts_and_entities_are_filtered,
            knowledge::any_unicode_text_round_trips_and_is_searchable,
            knowledge::names_of_any_length_are_stored_and_found,
            knowledge::answer_is_stored_once_with_its_events,
            knowledge::follow_up_job_is_queued_with_commit,
            learning::waiting_messages_are_learned_together_in_order,
            learning::learning_stops_where_the_lane_goes_on_with_another_message,
            learning::failed_plan_leaves_all_messages_of_its_transaction_waiting,
            learning::withdrawn_answer_is_not_queued,
            entities::entity_hints_return_most_mentioned_first,
            entities::key_finds_its_most_mentioned_bearers,
            entities::mentions_keep_decision_and_recent_ones_come_first,
            entities::merge_is_recorded_and_undone_once,
            entities::name_is_separated_without_record_of_a_merge,
            usage::token_usage_is_counted_by_day_and_message,
            lists::every_list_is_complete_for_any_page_size,
            lists::concurrent_inserts_do_not_disturb_paging,
            lists::invalid_cursor_is_refused_by_every_list,
            lists::belief_of_the_filter_is_that_of_the_domain,
            lists::facts_are_listed_in_each_order,
            lists::facts_are_filtered_by_type_source_and_time,
            lists::facts_that_differ_between_two_times_are_listed,
            lists::names_and_titles_are_found_without_accents,
            sessions::session_update_changes_only_given_values,
            sessions::sessions_are_filtered_by_title_and_flags,
            sessions::answer_is_remembered_only_if_its_question_is,
            sessions::activity_counts_sessions_and_messages,
            sessions::message_of_a_pause_is_stored_but_not_indexed,
            access::access_token_is_found_until_expired_or_revoked,
            access::access_tokens_of_others_are_hidden_and_protected,
            access::front_ends_are_those_of_the_user_used_last_first,
            access::revoked_token_stays_revoked_until_expiry,
            logins::login_is_found_until_idle_expired_or_ended,
            logins::only_one_claim_renews_a_login,
            logins::issuer_logout_ends_only_matching_earlier_logins,
            visits::visit_is_found_until_it_ends,
            visits::visitor_cannot_exceed_visit_quota,
            visits::number_of_visits_is_limited,
            visits::empty_visit_ends_early_until_first_message,
            visits::empty_visit_is_replaced_when_limit_is_reached,
            visits::empty_account_adopts_visit_unchanged,
            visits::account_with_data_adopts_visit_next_to_it,
            visits::visit_is_adopted_once_without_losing_messages,
            visits::unsettled_adoptions_are_listed_until_settled,
            visits::deleted_visitor_leaves_nothing_at_all,
            visits::adoption_is_listed_in_graph_feeds,
            passages::passages_are_kept_and_replaced,
            passages::messages_have_passages_as_long_as_they_have_their_text,
            passages::passages_go_with_their_chunks,
            documents::document_is_stored_with_its_file_job_and_event,
            documents::chunks_are_stored_in_steps_and_understood_in_order,
            documents::known_content_is_recognised_and_new_content_is_a_version,
            documents::failed_document_says_why_and_can_be_added_again,
            documents::documents_are_listed_and_filtered,
            documents::documents_of_others_are_unknown,
            documents::deleted_document_leaves_nothing_behind,
            documents::visitor_adds_as_much_as_the_visit_allows,
            files::file_is_due_unless_a_document_takes_it,
            files::known_content_leaves_its_file_due,
            files::file_is_due_once_its_document_is_deleted,
            files::deleted_file_is_forgotten_and_others_are_tried_again,
            files::account_takes_over_the_files_of_a_visit,
            files::files_of_others_are_unknown,
            archive::export_contains_files_outside_the_store,
            comparisons::comparison_continues_step_by_step,
            comparisons::failed_comparison_says_why,
            comparisons::comparisons_are_listed_by_document,
            comparisons::comparisons_of_others_are_unknown,
            comparisons::deleted_comparison_leaves_nothing_behind,
            relations::citations_lead_from_a_document_to_questions_and_answers,
            relations::document_lists_its_entities_by_mentions,
            relations::views_are_recorded_for_their_viewer_only,
            relations::summary_is_hidden_while_a_chunk_is_forgotten,
            topics::parts_of_sessions_with_the_same_meaning_are_one_topic,
            topics::forgotten_message_takes_its_topic_along,
            topics::topics_of_others_are_unknown,
            topics::texts_of_a_session_are_read_for_its_topics,
            deletion::deleted_session_leaves_nothing_behind,
            deletion::facts_with_other_evidence_are_reweighed_on_deletion,
            deletion::deleting_unknown_session_is_not_found,
            deletion::only_unused_sessions_are_deleted_for_age,
            deletion::deletion_decides_again_after_concurrent_commit,
            deletion::hidden_session_behaves_as_nonexistent,
            deletion::stepwise_deletion_equals_deletion_at_once,
            deletion::concurrent_workers_finish_hidden_session_deletion,
            forget::forgotten_data_is_in_no_read,
            forget::undone_forgetting_restores_everything,
            forget::undoing_shows_entities_that_a_later_forgetting_hid,
            forget::purged_forgetting_leaves_nothing_behind,
            forget::redacted_message_is_evidence_without_text,
            forget::forgetting_with_stale_plan_changes_nothing,
            forget::log_that_began_again_twice_has_no_gap,
            forget::forgettings_of_others_are_hidden_and_protected,
            forget::deleted_session_takes_its_forgotten_messages_along,
            forget::forgetting_waits_for_the_reply_to_its_command,
            forget::erased_message_is_no_longer_processed,
            forget::reply_to_a_command_says_that_it_was_undone,
            forget::session_title_can_be_changed,
            erasure::erasure_removes_all_data_of_one_user_only,
            erasure::interrupted_erasure_resumes_and_counts_rows_once,
            erasure::writes_during_erasure_are_refused,
            erasure::concurrent_writes_leave_nothing_after_erasure,
            erasure::receipts_and_usage_expire_after_the_day,
            erasure::audit_log_shows_all_to_administrators_only,
            archive::exported_user_is_identical_after_import,
            archive::imported_data_is_searchable_and_jobs_continue,
            archive::truncated_archive_writes_nothing,
            archive::unfinished_import_blocks_writes_until_completed,
            archive::archive_with_flipped_bit_is_refused,
            archive::archive_without_checksum_is_imported_and_reported,
            archive::repeated_import_repairs_damaged_vectors_and_terms,
            archive::import_refuses_user_with_other_data,
            archive::inconsistent_records_are_refused_by_line,
            archive::export_is_a_consistent_snapshot,
            archive::export_leaves_out_what_is_forgotten,
            archive::vectors_of_another_model_are_recomputed_on_import,
            archive::local_user_maps_to_local_user_of_target,
            vectors::first_message_sets_embedding_model_of_user,
            vectors::old_vectors_serve_until_new_ones_are_complete,
            vectors::new_message_is_found_by_both_models_during_change,
            vectors::late_message_delays_use_of_new_vectors,
            vectors::one_worker_holds_user_and_late_worker_writes_nothing,
            vectors::last_wanted_embedding_model_wins,
            vectors::deletion_during_model_change_leaves_no_vector,
            feed::graph_feed_records_changes_once_started,
            feed::feed_items_have_current_state_and_source,
            feed::repeated_change_is_listed_once_under_latest_number,
            feed::deleted_items_are_listed_as_gone,
            feed::forgotten_items_are_listed_as_gone,
            feed::merge_lists_everything_it_changes,
            feed::feeds_of_users_are_separate,
            graph_documents::feed_lists_documents_with_chunks_and_citations,
            graph_documents::feed_leaves_out_citations_of_hidden_answers_and_shared_documents,
            graph_documents::feed_records_document_changes_once_started,
            graph_documents::feed_lists_topics_of_documents,
        }
    };
    (@tests $factory:expr; $($module:ident :: $test:ident),+ $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let factory = $factory;
            if let Some(store) = factory.store().await {
                let test = $crate::contract::store::$module::$test(store);
                tokio::time::timeout(5 * $crate::server::TIMEOUT, test).await.expect("the test does not end");
            }
        }
    )+};
}
use graph::{documents as graph_documents, feed};
use store_contract;
